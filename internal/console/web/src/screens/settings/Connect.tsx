import { NativeSelect } from '@mantine/core';
import clients from '../../api/clients.json' with { type: 'json' };
import { Panel } from '../../parts/elements';
import { instanceURL } from '../../parts/instanceURL';
import { Code } from '../../parts/Json';
import { useParam } from '../../parts/url';

const systems = [
  ['linux', 'Linux'],
  ['darwin', 'macOS'],
  ['windows', 'Windows'],
] as const;

// Connect shows how a client is connected: those that Junctor knows, each with its file.
export function Connect() {
  const [name, setName] = useParam('client', clients[0]?.name ?? '');
  const client = clients.find((c) => c.name === name) ?? clients[0];
  if (!client) return null;
  const entry = client.entry.replaceAll('http://junctor.invalid', instanceURL());
  const starts = entry === client.entry; // a command, as it has no URL
  const files = systems.map(([system, title]) => ({ title, file: client.files[system] }));
  const alike = files.every(({ file }) => file === files[0]?.file);
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Panel pad>
        <NativeSelect
          label="Client"
          value={client.name}
          data={clients.map((c) => ({ value: c.name, label: c.title }))}
          onChange={(e) => setName(e.currentTarget.value)}
        />
      </Panel>
      <div className="columns">
        <Panel title="On the machine of this instance" pad>
          <div className="stack">
            <p className="soft">
              One command puts Junctor into the configuration of {client.title}, with a key of its own, and keeps a copy of the file.
            </p>
            <Code>{`junctor connect ${client.name}`}</Code>
            <p className="soft">To connect it as an agent that has a few tools alone:</p>
            <Code>{`junctor connect ${client.name} --agent laptop --tool 'demo/*'`}</Code>
          </div>
        </Panel>
        <Panel title="By hand" pad>
          <div className="stack">
            <p className="soft">
              {starts
                ? `${client.title} starts Junctor instead of using a URL, so this works on the machine of this instance. Create a key under “Keys”, and put it in place of YOUR-KEY.`
                : 'On any machine that reaches this instance: create a key under “Keys”, and put it in place of YOUR-KEY.'}
            </p>
            <Code label="Copy the entry">{entry}</Code>
            <dl className="facts">
              {alike ? (
                <>
                  <dt>File</dt>
                  <dd>
                    <code className="wrap">{files[0]?.file}</code>
                  </dd>
                </>
              ) : (
                files.map(({ title, file }) => [
                  <dt key={`${title} name`}>{title}</dt>,
                  <dd key={title}>
                    <code className="wrap">{file}</code>
                  </dd>,
                ])
              )}
              {client.project && (
                <>
                  <dt>In a project</dt>
                  <dd>
                    <code className="wrap">{client.project}</code>
                  </dd>
                </>
              )}
            </dl>
          </div>
        </Panel>
      </div>
    </div>
  );
}
