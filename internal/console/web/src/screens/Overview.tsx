import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Check } from 'lucide-react';
import { Link } from 'wouter';
import { useAttention } from '../api/attention';
import type { Call, ListedServer } from '../api/client';
import { useKeys, useMe, useWho } from '../api/data';
import { useFirst, useTotal } from '../api/lists';
import { type Metrics, type Series, useMetrics } from '../api/metrics';
import { can } from '../app/permissions';
import { CallCharts, CallFigures, Figure, waiting } from '../parts/Activity';
import { AttentionSummary } from '../parts/AttentionSummary';
import { DeliveryCharts } from '../parts/DeliveryCharts';
import { Head, Panel, State } from '../parts/elements';
import { count, counted } from '../parts/format';
import { HealthChart } from '../parts/Outages';
import { RangePicker } from '../parts/RangePicker';
import { callsIn } from '../parts/range';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { TopList, TopTools } from '../parts/TopList';
import { useRange } from '../parts/useRange';
import { useFirstSteps } from './start/steps';

const most = 6;

export default function Overview() {
  const me = useMe().data;
  const reads = can(me, 'tools:read');
  const audits = can(me, 'audit:read');
  const admin = can(me, 'admin');
  const choice = useRange();
  const { range } = choice;
  const servers = useFirst<ListedServer>('/servers', {}, 8, reads);
  const active = useTotal('/servers', { state: 'active' }, reads);
  const broken = useTotal('/servers', { state: 'error' }, reads).data ?? 0;
  const tools = useTotal('/tools');
  const attended = useAttention().kinds.server ?? 0; // such as those without a login
  // Admins see all calls, others their own.
  const own = me?.subject ?? '';
  const metrics = useMetrics(admin ? { by: 'all' } : { by: 'user' }, range, { enabled: audits });
  const topServers = useMetrics({ by: 'server' }, range, { limit: most, points: false, enabled: admin });
  const topCallers = useMetrics({ by: 'caller' }, range, { limit: most, points: false, enabled: admin });
  const calls = metrics.data?.series[0]?.total.calls ?? 0;
  const name = useWho();
  const keys = useKeys(admin);
  const link = (m: Metrics, filter: Record<string, string> = {}) =>
    callsIn(Date.parse(m.from), Date.parse(m.to), { ...(admin ? {} : { caller: own }), ...filter });

  return (
    <>
      <Head title="Overview" sub={audits && !admin ? 'Your calls.' : undefined}>
        {audits && <RangePicker choice={choice} />}
      </Head>
      <Guide />
      <div className="figures">
        {audits && <CallFigures m={metrics.data} failed={metrics.error !== null} />}
        <Figure
          name="Servers"
          value={active.data === undefined ? waiting : count(active.data)}
          note={
            active.data === undefined
              ? ''
              : broken
                ? `${broken} failing`
                : attended
                  ? `${attended} ${attended === 1 ? 'needs' : 'need'} attention`
                  : 'all healthy'
          }
          bad={broken > 0}
        />
        <Figure
          name="Tools"
          value={tools.data === undefined ? waiting : count(tools.data)}
          note={servers.data && `of ${counted(servers.data.total ?? 0, 'server')}`}
        />
      </div>
      {audits && (
        <>
          <CallCharts metrics={metrics} choice={choice} filter={admin ? {} : { caller: own }} />
          {(!metrics.data || calls > 0) && (
            <div className="columns three">
              <TopTools choice={choice} own={!admin} filter={admin ? {} : { caller: own }} enabled={audits} />
              {admin && (
                <TopList
                  title="Top servers"
                  query={topServers}
                  name={(s) => s.first || 'No server'}
                  href={(s, m) => link(m, s.first && !s.first.startsWith('(') ? { server: s.first } : {})}
                />
              )}
              {admin && (
                <TopList
                  title="Top callers"
                  query={topCallers}
                  name={(s) => (
                    <Caller
                      s={s}
                      name={
                        keys.data?.find((k) => s.first === 'key' && k.id === s.second)?.name ??
                        name({ issuer: s.first as Call['issuer'], subject: s.second ?? '' })
                      }
                    />
                  )}
                  href={(s, m) => link(m, s.second ? { caller: s.second } : {})}
                />
              )}
            </div>
          )}
          <DeliveryCharts choice={choice} />
          <HealthChart choice={choice} />
        </>
      )}
      <div className="columns">
        {reads && <AttentionSummary />}
        <Panel
          title="Servers"
          acts={
            <Link href="/servers" className="link small">
              View all
            </Link>
          }
        >
          {servers.error && !servers.data ? (
            <div className="pad">
              <ErrorCard error={servers.error} retry={() => servers.refetch()} />
            </div>
          ) : !servers.data ? (
            <Loading />
          ) : servers.data.items.length === 0 ? (
            <Empty title="No servers yet">Add a server to give your clients tools.</Empty>
          ) : (
            <div className="rows">
              {servers.data.items.map((s) => (
                <Link key={s.id} href={`/servers/${s.id}`}>
                  <span className="grow cut" style={{ fontWeight: 500 }}>
                    {s.title || s.id}
                  </span>
                  <span className="small soft wide">{counted(s.tools, 'tool')}</span>
                  <span className="small">
                    <State state={s.state} />
                  </span>
                </Link>
              ))}
            </div>
          )}
        </Panel>
      </div>
    </>
  );
}

// Caller names a caller, and its kind if it is no user.
const Caller = ({ s, name }: { s: Series; name: string }) => (
  <span title={`${s.first}: ${s.second}`}>
    {name} {s.first !== 'user' && s.first !== 'local' && <span className="tiny soft">{s.first}</span>}
  </span>
);

// Guide leads to the first steps, while there are any.
function Guide() {
  const [hidden, setHidden] = useLocalStorage({ key: 'junctor-guide-hidden', defaultValue: false, getInitialValueInEffect: false });
  return hidden ? null : <Steps hide={() => setHidden(true)} />;
}

function Steps({ hide }: { hide: () => void }) {
  const steps = useFirstSteps();
  if (!steps || steps.every((s) => s.done)) return null;
  return (
    <Panel
      title="First steps"
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={hide}>
          Hide
        </Button>
      }
      pad
    >
      <ol className="steps" style={{ display: 'grid', gridTemplateColumns: 'repeat(auto-fit, minmax(13rem, 1fr))', gap: '1rem' }}>
        {steps.map((s, i) => (
          <li key={s.key}>
            <span className={`mark ${s.done ? 'done' : ''}`}>{s.done ? <Check size={12} strokeWidth={3} /> : i + 1}</span>
            <span className="grow">
              <span style={{ fontWeight: 550, display: 'block' }}>
                {s.name}
                {s.done && <span className="skip">, done</span>}
              </span>
              <span className="small soft">{s.text} </span>
              {!s.done && (
                <Link href={`/start?step=${s.key}`} className="link small">
                  {s.act}
                </Link>
              )}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
