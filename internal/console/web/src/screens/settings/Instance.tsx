import { useQuery } from '@tanstack/react-query';
import { get, type Schemas } from '../../api/client';
import { Ago, Panel, Scroll, Tag } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { matches } from '../../parts/search';
import { QueryContent } from '../../parts/states';
import { useParam } from '../../parts/url';
import { useSettings } from './Egress';
import { Backup, Health } from './Replicas';

export const Instance = () => (
  <>
    <Health />
    <Backup />
    <Effective />
  </>
);

// Effective lists the settings in effect.
function Effective() {
  const settings = useSettings();
  const file = useQuery({ queryKey: ['settings', 'file'], queryFn: ({ signal }) => get<Schemas['FileState']>('/settings/file', signal) });
  const [q, setQ] = useParam('q');
  return (
    <Panel
      title="Settings of this instance"
      acts={<FilterInput label="Filter settings" placeholder="Filter" small value={q} change={setQ} />}
    >
      <QueryContent query={settings} rows={8}>
        {(all) => (
          <Scroll label="Settings">
            <table className="list">
              <thead>
                <tr>
                  <th>Setting</th>
                  <th>Value</th>
                  <th>Source</th>
                </tr>
              </thead>
              <tbody>
                {all
                  .filter((s) => matches(q, s.name, s.value))
                  .map((s) => (
                    <tr key={s.name}>
                      <td className="mono">--{s.name}</td>
                      <td className="mono cut">{s.value || <span className="soft">–</span>}</td>
                      <td>
                        <Tag tone={s.source === 'default' ? '' : 'act'}>{s.source}</Tag>
                      </td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </QueryContent>
      <div className="pad stack tight small">
        <p className="soft">Set them with flags, in the environment or in the settings file. Changes take effect after a restart.</p>
        {file.data?.path && (
          <p>
            <code className="wrap">{file.data.path}</code>{' '}
            {file.data.ok ? <Tag tone="good">applied</Tag> : <Tag tone="bad">not applied</Tag>}{' '}
            {file.data.loaded_at && (
              <span className="soft">
                read <Ago at={file.data.loaded_at} />
              </span>
            )}
          </p>
        )}
        {file.data?.problems?.map((p) => (
          <p key={`${p.where}${p.message}`} className="wrap">
            <code>{p.where}</code> {p.message}
          </p>
        ))}
        {file.data?.restart && file.data.restart.length > 0 && <p>Applied after a restart: {file.data.restart.join(', ')}</p>}
      </div>
    </Panel>
  );
}
