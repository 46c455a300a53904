import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { joinCommand } from '../../parts/command';
import { Copy, Panel } from '../../parts/elements';
import { useSettings } from '../settings/Egress';

// useRunsCommands reports whether servers that the user adds may run commands; true until it
// is known.
export const useRunsCommands = (): boolean => useMe().data?.runs_commands ?? true;

// CommandsOff says how to add servers that run a command where the console may not add them:
// with these lines, on the machine of the instance.
export function CommandsOff({ lines }: { lines: string[] }) {
  const me = useMe().data;
  const settings = useSettings(can(me, 'admin'));
  const directory = settings.data?.find((s) => s.name === 'data-dir');
  const flag = directory && directory.source !== 'default' ? ` --data-dir ${joinCommand([directory.value])}` : '';
  // Flags stand before the command of the server.
  const whole = lines.map((line) => line.replace(/ -- |$/, (end) => flag + end));
  return (
    <Panel title="Commands cannot be added here" pad>
      <div className="stack tight">
        <p>
          A command runs with the permissions of this instance, so it is added on the machine of the instance
          {lines.length > 0 && (lines.length === 1 ? ', with this line:' : ', with these lines:')}
          {lines.length === 0 && '.'}
        </p>
        {whole.map((line) => (
          <div key={line} className="row plain" style={{ alignItems: 'flex-start' }}>
            <code className="wrap grow">{line}</code>
            <Copy value={line} label="Copy the line" />
          </div>
        ))}
        <p className="small soft">
          To let admins add commands in the console, the operator starts Junctor with <code>--allow-commands</code>.
        </p>
      </div>
    </Panel>
  );
}
