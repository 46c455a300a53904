import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Check, CircleAlert, Info, LogIn, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { get, type ListedServer, query, type Schemas } from '../api/client';
import { useMe, useMyCredentials } from '../api/data';
import { useFirst, useTotal } from '../api/lists';
import { can } from '../app/permissions';
import { Bars } from '../parts/Bars';
import { Ago, Head, Panel, State } from '../parts/elements';
import { count, counted, span } from '../parts/format';
import { Empty, ErrorCard, Loading } from '../parts/states';
import type { Bucket } from '../parts/stats';
import { useFirstSteps } from './start/steps';

const minutes = 15;

type Metrics = Schemas['Answer'];
type Numbers = Pick<
  Metrics['series'][number]['total'],
  'calls' | 'errors' | 'timeouts' | 'denied' | 'limited' | 'invalid' | 'p50_us' | 'p95_us'
>;

const none: Numbers = { calls: 0, errors: 0, timeouts: 0, denied: 0, limited: 0, invalid: 0, p50_us: 0, p95_us: 0 };
const failures = (n: Numbers) => n.errors + n.timeouts + n.denied + n.limited + n.invalid;

// useRecent counts the calls of the last minutes on the server: everybody's for admins,
// one's own for others.
function useRecent(all: boolean, enabled: boolean) {
  return useQuery({
    queryKey: ['metrics', 'recent', all],
    queryFn: ({ signal }) =>
      get<Metrics>(
        `/metrics${query({ by: all ? 'all' : 'user', step: '1m', from: new Date(Date.now() - minutes * 60_000).toISOString() })}`,
        signal,
      ),
    refetchInterval: 5_000,
    enabled,
  });
}

// minuteBuckets are the bars of the minutes that an answer covers, also of those without calls.
function minuteBuckets(m: Metrics): Bucket[] {
  const points = new Map((m.series[0]?.points ?? []).map((p) => [Date.parse(p.time), p]));
  const out: Bucket[] = [];
  for (let from = Date.parse(m.from); from < Date.parse(m.to); from += m.step_seconds * 1000) {
    const p = points.get(from) ?? none;
    out.push({ from, ok: p.calls - failures(p), failed: failures(p) });
  }
  return out;
}

export function Overview() {
  const me = useMe().data;
  const reads = can(me, 'tools:read');
  const audits = can(me, 'audit:read');
  const servers = useFirst<ListedServer>('/servers', {}, 8, reads);
  const active = useTotal('/servers', { state: 'active' }, reads);
  const broken = useTotal('/servers', { state: 'error' }, reads).data ?? 0;
  const tools = useTotal('/tools');
  const metrics = useRecent(can(me, 'admin'), audits);
  const recent: Numbers = metrics.data?.series[0]?.total ?? none;
  const bad = failures(recent);

  return (
    <>
      <Head title="Overview" sub={`The last ${minutes} minutes.`} />
      <Guide />
      <div className="figures">
        {audits && (
          <>
            <Figure
              name="Calls"
              value={metrics.data ? count(recent.calls) : '–'}
              note={`${(recent.calls / minutes).toFixed(1)} per minute`}
            />
            <Figure
              name="Latency p50"
              value={recent.p50_us ? span(recent.p50_us * 1000) : '–'}
              note={`p95: ${recent.p95_us ? span(recent.p95_us * 1000) : '–'}`}
            />
            <Figure
              name="Failed or refused"
              value={recent.calls ? `${((bad / recent.calls) * 100).toFixed(bad > 0 && bad / recent.calls < 0.1 ? 1 : 0)}%` : '–'}
              note={`${count(bad)} of ${count(recent.calls)}`}
              bad={bad > 0}
            />
          </>
        )}
        <Figure
          name="Servers"
          value={active.data === undefined ? '–' : count(active.data)}
          note={broken ? `${broken} failing` : 'all healthy'}
          bad={broken > 0}
        />
        <Figure
          name="Tools"
          value={tools.data === undefined ? '–' : count(tools.data)}
          note={`of ${counted(servers.data?.total ?? 0, 'server')}`}
        />
      </div>
      {audits && (
        <Panel
          title="Calls"
          acts={
            <Link href="/calls" className="link small">
              Show live calls
            </Link>
          }
          pad
        >
          {metrics.error ? (
            <ErrorCard error={metrics.error} />
          ) : !metrics.data ? (
            <Loading rows={3} />
          ) : recent.calls === 0 ? (
            <Empty title="No recent calls">
              Calls appear here as they are made, from every caller and entry point.{' '}
              <Link className="link" href="/playground">
                Try a tool
              </Link>
            </Empty>
          ) : (
            <Bars buckets={minuteBuckets(metrics.data)} label={`Calls in the last ${minutes} minutes`} />
          )}
        </Panel>
      )}
      <div className="columns">
        {reads && <Attention />}
        <Panel
          title="Servers"
          acts={
            <Link href="/servers" className="link small">
              All
            </Link>
          }
        >
          {servers.error ? (
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

const Figure = ({ name, value, note, bad = false }: { name: string; value: string; note?: string; bad?: boolean }) => (
  <div className={`figure ${bad ? 'bad' : ''}`}>
    <div className="name">{name}</div>
    <div className="value">{value}</div>
    <div className="note">{note}</div>
  </div>
);

const icons = {
  critical: <CircleAlert size={15} color="var(--bad)" />,
  warning: <TriangleAlert size={15} color="var(--warn)" />,
  info: <Info size={15} color="var(--soft)" />,
};

const mostItems = 8;

// Attention lists what somebody should look at: as the server sees it, and the credentials
// that this user has to enter.
function Attention() {
  const me = useMe().data;
  const list = useQuery({
    queryKey: ['attention', mostItems],
    queryFn: ({ signal }) => get<Schemas['AttentionList']>(`/attention?limit=${mostItems}`, signal),
    refetchInterval: 5_000,
    enabled: can(me, 'audit:read'),
  });
  const mine = useMyCredentials(!!me?.person && can(me, 'tools:call'));
  const items: { key: string; icon: ReactNode; to: string; what: ReactNode; when?: ReactNode }[] = [];
  for (const i of list.data?.items ?? [])
    items.push({
      key: i.id,
      icon: icons[i.severity],
      to: i.console,
      what: (
        <>
          <b>{i.object.name}</b> {i.problem}
        </>
      ),
      when: <Ago at={i.since} />,
    });
  for (const c of mine.data ?? [])
    if (c.wanted && (!c.entered || c.problem))
      items.push({
        key: `m${c.server}`,
        icon: <LogIn size={15} color="var(--warn)" />,
        to: `/servers/${c.server}?tab=sign-in`,
        what: (
          <>
            <b>{c.server}</b> {c.problem || 'requires your credentials'}
          </>
        ),
      });
  return (
    <Panel title="Needs attention">
      {items.length === 0 ? (
        <Empty icon={<Check size={28} strokeWidth={1.5} aria-hidden />} title="Nothing needs attention">
          Servers, deliveries, keys and approvals were checked.
        </Empty>
      ) : (
        <div className="rows">
          {items.map((i) => (
            <Link key={i.key} href={i.to}>
              {i.icon}
              <span className="grow cut small">{i.what}</span>
              <span className="small soft">{i.when}</span>
            </Link>
          ))}
        </div>
      )}
    </Panel>
  );
}

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
