import type { ServerDetail } from '../../api/client';
import { Ago, Panel } from '../../parts/elements';
import { Code } from '../../parts/Json';

const sharing: Record<string, string> = {
  shared: 'one connection for all callers',
  session: 'one connection per client session',
  user: 'one connection per caller',
};

// Diagnostics is how a server is doing, as its last answers say.
export function Diagnostics({ s }: { s: ServerDetail }) {
  const d = s.diagnostics;
  if (!d) return null;
  return (
    <div className="columns">
      <Panel title="Connection" pad>
        <dl className="facts">
          <dt>Connected</dt>
          <dd>{d.connected ? 'yes' : 'no'}</dd>
          <dt>Name</dt>
          <dd>
            {d.name} {d.release}
          </dd>
          <dt>Protocol</dt>
          <dd>
            {d.protocol} {d.era && <span className="soft">({d.era})</span>}
          </dd>
          <dt>Last seen</dt>
          <dd>
            <Ago at={d.last_seen} />
          </dd>
          <dt>Last error</dt>
          <dd className="wrap">{s.last_error || <span className="soft">none</span>}</dd>
        </dl>
      </Panel>
      <Panel title="Sessions" pad>
        <dl className="facts">
          <dt>Open</dt>
          <dd>
            {d.sessions} <span className="soft">of at most {s.max_sessions || 'the default number'}</span>
          </dd>
          <dt>Waiting for input</dt>
          <dd>{d.parked}</dd>
          {d.processes !== undefined && (
            <>
              <dt>Processes</dt>
              <dd>{d.processes}</dd>
            </>
          )}
          <dt>Isolation</dt>
          <dd>
            {sharing[d.isolation || 'shared'] ?? d.isolation}
            {d.isolation_reason && <span className="soft">: {d.isolation_reason}</span>}
          </dd>
        </dl>
      </Panel>
      <div style={{ gridColumn: '1 / -1' }}>
        <Panel title="Standard error" pad>
          {d.stderr?.length ? (
            <Code label="Copy the lines">{d.stderr.join('\n')}</Code>
          ) : (
            <p className="soft">{s.transport === 'stdio' ? 'No output.' : 'Only commands have standard error.'}</p>
          )}
        </Panel>
      </div>
    </div>
  );
}
