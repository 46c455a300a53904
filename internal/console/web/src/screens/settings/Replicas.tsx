import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { get, type Schemas } from '../../api/client';
import { Ago, Panel, Scroll, Tag, type Tone } from '../../parts/elements';
import { count, counted } from '../../parts/format';
import { Code } from '../../parts/Json';
import { QueryContent } from '../../parts/states';

type Cluster = Schemas['ClusterState'];
type Replica = Cluster['replicas'][number];
type Journal = Cluster['journals'][number];

// A replica reports every 2 s. One that is silent for longer has ended, or does not reach
// the database.
const mostSilence = 6_000;
// Above this, keys and sessions expire noticeably earlier on one replica than on another.
const mostSkew = 2_000;

function stateOf(r: Replica): [Tone, string] {
  if (r.reachable) return ['good', r.self ? 'this one' : 'answers'];
  return r.silent_ms > mostSilence ? ['warn', 'silent'] : ['bad', 'unreachable'];
}

const milliseconds = (ms: number) => `${ms > 0 ? '+' : ''}${count(ms)} ms`;

// Health shows what the instance knows of its replicas, as junctor doctor does.
export function Health() {
  const cluster = useQuery({
    queryKey: ['cluster'],
    queryFn: ({ signal }) => get<Cluster>('/cluster', signal),
    refetchInterval: 10_000,
  });
  return (
    <QueryContent query={cluster} rows={6}>
      {(c) => (
        <>
          <Panel
            title="Replicas"
            acts={
              <Link href="/attention" className="link small">
                Needs attention
              </Link>
            }
          >
            <Scroll label="Replicas">
              <table className="list">
                <thead>
                  <tr>
                    <th>Replica</th>
                    <th>State</th>
                    <th>Version</th>
                    <th className="wide">Started</th>
                    <th className="right wide">Clock</th>
                    <th className="wide">Sealing key</th>
                    <th className="wide">Redis</th>
                  </tr>
                </thead>
                <tbody>
                  {c.replicas.map((r) => (
                    <ReplicaRow key={r.id} r={r} />
                  ))}
                </tbody>
              </table>
            </Scroll>
            <div className="pad small stack tight">
              <Warnings c={c} />
              <p className="soft">
                Schema {c.schema} of the database, whose clock differs by {milliseconds(c.database_clock_ms)}.{' '}
                {c.shared ? 'Replicas can share this database.' : 'Only one replica can use this database; several require PostgreSQL.'}
              </p>
              <p className="soft">
                <code>junctor doctor</code> also checks files, disk, ports and every server.
              </p>
            </div>
          </Panel>
          <div className={c.leases.length > 0 ? 'columns' : ''}>
            <Journals list={c.journals} />
            {c.leases.length > 0 && <Leases c={c} />}
          </div>
        </>
      )}
    </QueryContent>
  );
}

function ReplicaRow({ r }: { r: Replica }) {
  const [tone, name] = stateOf(r);
  return (
    <tr>
      <td>
        <b>{r.name}</b>
        <div className="tiny soft mono cut">{r.url || r.id}</div>
      </td>
      <td>
        <Tag tone={tone}>{name}</Tag>
        {r.problem && <div className="tiny soft wrap">{r.problem}</div>}
      </td>
      <td className="mono tiny cut">{r.version}</td>
      <td className="wide soft">{r.started_at.startsWith('0001-') ? '–' : <Ago at={r.started_at} />}</td>
      <td className="right wide num soft">{r.self ? '–' : milliseconds(r.clock_ms)}</td>
      <td className="wide mono tiny cut">{r.seal_key || '–'}</td>
      <td className="wide">
        {r.redis ? <Tag tone={r.redis === 'ok' ? 'good' : 'warn'}>{r.redis === 'ok' ? 'ok' : 'unavailable'}</Tag> : '–'}
      </td>
    </tr>
  );
}

// Warnings says what differs between replicas that should be alike.
function Warnings({ c }: { c: Cluster }) {
  const answering = c.replicas.filter((r) => r.reachable);
  const versions = new Set(c.replicas.map((r) => r.version));
  const clocks = [0, c.database_clock_ms, ...answering.map((r) => r.clock_ms)];
  const current = new Set(answering.flatMap((r) => (r.seal_key ? [r.seal_key] : [])));
  const lacking = answering.filter((r) => [...current].some((key) => !r.seal_keys?.includes(key)));
  const list: ReactNode[] = [];
  if (versions.size > 1) list.push('Replicas have different versions: finish the upgrade.');
  if (Math.max(...clocks) - Math.min(...clocks) > mostSkew) list.push('Clocks differ by more than 2 s: synchronize them with NTP.');
  if (lacking.length > 0)
    list.push(
      `${lacking.map((r) => r.name).join(', ')}: cannot decrypt secrets of other replicas. Give all replicas the same sealing keys.`,
    );
  else if (current.size > 1) list.push('Replicas encrypt with different sealing keys: finish the rotation.');
  return (
    <>
      {list.map((text, i) => (
        <p key={i}>
          <Tag tone="warn">warning</Tag> {text}
        </p>
      ))}
    </>
  );
}

const Journals = ({ list }: { list: readonly Journal[] }) => (
  <Panel title="Journals">
    <div className="rows">
      {list.map((j) => (
        <div key={j.replica}>
          <span className="grow stack tight">
            <b className="cut">{j.replica}</b>
            <span className="small soft">
              {j.records !== undefined && `${counted(j.records, 'record')}, `}
              {count(j.copied)} in the database{j.lag > 0 && `, ${count(j.lag)} behind`}
            </span>
            {j.problems?.map((p) => (
              <span key={p} className="small wrap">
                {p}
              </span>
            ))}
          </span>
          <Tag tone={j.ok ? (j.writing ? 'good' : '') : 'bad'}>{j.ok ? (j.writing ? 'writing' : 'not running') : 'failing'}</Tag>
        </div>
      ))}
    </div>
  </Panel>
);

const Leases = ({ c }: { c: Cluster }) => (
  <Panel title="Leader leases">
    <div className="rows">
      {c.leases.map((l) => (
        <div key={l.name}>
          <span className="grow mono small cut">{l.name}</span>
          <span className="small soft cut">{l.replica ? (c.replicas.find((r) => r.id === l.replica)?.name ?? l.replica) : 'free'}</span>
        </div>
      ))}
    </div>
  </Panel>
);

// Backup says how a backup is made: its file must be somewhere else than the instance.
export const Backup = () => (
  <Panel title="Backup" pad>
    <div className="stack">
      <p className="soft">Run this on the machine of the instance, which can keep running. The file has the databases and the journal.</p>
      <Code label="Copy the command">junctor backup junctor-backup.tar.gz</Code>
      <p className="soft">Verify a backup, and restore it into an empty data directory:</p>
      <Code label="Copy the commands">
        {'junctor backup verify junctor-backup.tar.gz\njunctor restore junctor-backup.tar.gz --data-dir NEW-DIRECTORY'}
      </Code>
      <p className="small soft">
        The file has no keys. Keep copies of <code>seal.key</code> and <code>heads/signing.key</code> in another place: without{' '}
        <code>seal.key</code>, nobody can decrypt the secrets in a backup.
      </p>
    </div>
  </Panel>
);
