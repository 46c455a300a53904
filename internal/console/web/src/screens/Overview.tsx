import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Check, GitCompare, KeyRound, LogIn, ServerOff, ShieldAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Call } from '../api/client';
import { useKeys, useMe, useMyCredentials, useServers, useToolChanges, useTools } from '../api/data';
import { useFeed } from '../api/feed';
import { can } from '../app/permissions';
import { Bars } from '../parts/Bars';
import { Ago, Head, Panel, State, Status } from '../parts/elements';
import { count, short, span, tokens } from '../parts/format';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { buckets, failed, percentile } from '../parts/stats';
import { useFirstSteps } from './start/steps';

const minutes = 15;

export function Overview() {
  const me = useMe().data;
  const reads = can(me, 'tools:read');
  const audits = can(me, 'audit:read');
  const servers = useServers();
  const tools = useTools();
  const feed = useFeed(audits);
  const now = Date.now();
  const recent = feed.calls.filter((c) => Date.parse(c.start) > now - minutes * 60_000);
  const ran = recent
    .filter((c) => c.duration_ns !== undefined && !['denied', 'limited', 'invalid'].includes(c.status))
    .map((c) => c.duration_ns ?? 0);
  const bad = recent.filter(failed).length;
  const broken = servers.data?.filter((s) => s.state === 'error').length ?? 0;

  return (
    <>
      <Head title="Overview" sub={`The last ${minutes} minutes, live.`}>
        {audits && (
          <span className="row plain soft small">
            <span className={`dot ${feed.live ? 'live' : 'off'}`} /> {feed.live ? 'live' : 'connecting'}
          </span>
        )}
      </Head>
      <Guide />
      <div className="figures">
        <Figure name="Calls" value={count(recent.length)} note={`${rate(recent, now)} per second now`} />
        <Figure name="Latency p50" value={span(percentile(ran, 0.5)) || '–'} note={`p95: ${span(percentile(ran, 0.95)) || '–'}`} />
        <Figure
          name="Failed or refused"
          value={recent.length ? `${((bad / recent.length) * 100).toFixed(bad > 0 && bad / recent.length < 0.1 ? 1 : 0)}%` : '–'}
          note={`${count(bad)} of ${count(recent.length)}`}
          bad={bad > 0}
        />
        <Figure
          name="Servers"
          value={servers.data ? `${servers.data.filter((s) => s.state === 'active').length}` : '–'}
          note={broken ? `${broken} failing` : 'all healthy'}
          bad={broken > 0}
        />
        <Figure
          name="Tools"
          value={tools.data ? count(tools.data.length) : '–'}
          note={tools.data ? `about ${short(tools.data.reduce((n, t) => n + tokens(t), 0))} tokens` : ''}
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
          {feed.error && feed.calls.length === 0 ? (
            <ErrorCard error={feed.error} />
          ) : !feed.loaded ? (
            <Loading rows={3} />
          ) : recent.length === 0 ? (
            <Empty title="No recent calls">
              Calls appear here as they are made, from every caller and entry point.{' '}
              <Link className="link" href="/playground">
                Try a tool
              </Link>
            </Empty>
          ) : (
            <Bars buckets={buckets(recent, now, 15_000, minutes * 4)} label={`Calls in the last ${minutes} minutes`} />
          )}
        </Panel>
      )}
      <div className="columns">
        {reads && <Attention calls={recent} />}
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
          ) : servers.data.length === 0 ? (
            <Empty title="No servers yet">Add a server to give your clients tools.</Empty>
          ) : (
            <div className="rows">
              {servers.data.slice(0, 8).map((s) => (
                <Link key={s.id} href={`/servers/${s.id}`}>
                  <span className="grow cut" style={{ fontWeight: 500 }}>
                    {s.title || s.id}
                  </span>
                  <span className="small soft wide">{tools.data?.filter((t) => t.server === s.id).length ?? 0} tools</span>
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

// rate is how many calls a second there were in the last ten.
const rate = (calls: readonly Call[], now: number): string => {
  const n = calls.filter((c) => Date.parse(c.start) > now - 10_000).length / 10;
  return n === 0 || n >= 10 ? n.toFixed(0) : n.toFixed(1);
};

const Figure = ({ name, value, note, bad = false }: { name: string; value: string; note?: string; bad?: boolean }) => (
  <div className={`figure ${bad ? 'bad' : ''}`}>
    <div className="name">{name}</div>
    <div className="value">{value}</div>
    <div className="note">{note}</div>
  </div>
);

// soon says that a moment is ahead, and less than a week away.
const soon = (at: string | undefined): boolean => {
  const left = at ? Date.parse(at) - Date.now() : -1;
  return left > 0 && left < 7 * 86_400_000;
};

// Attention lists what somebody should look at.
function Attention({ calls }: { calls: Call[] }) {
  const servers = useServers();
  const changes = useToolChanges();
  const me = useMe().data;
  const keys = useKeys(can(me, 'keys:write'));
  const mine = useMyCredentials(!!me?.person && can(me, 'tools:call'));
  const items: { key: string; icon: ReactNode; to: string; what: ReactNode; when?: ReactNode }[] = [];
  for (const s of servers.data ?? [])
    if (s.state === 'error')
      items.push({
        key: `s${s.id}`,
        icon: <ServerOff size={15} color="var(--bad)" />,
        to: `/servers/${s.id}`,
        what: (
          <>
            <b>{s.id}</b> {s.last_error || 'is failing'}
          </>
        ),
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
  for (const k of keys.data ?? [])
    if (soon(k.expires_at) && (!k.revoked_at || k.revoked_at.startsWith('0001')))
      items.push({
        key: `k${k.id}`,
        icon: <KeyRound size={15} color="var(--warn)" />,
        to: k.agent ? `/agents/${k.agent}?tab=keys` : '/settings?tab=keys',
        what: (
          <>
            The key <b>{k.name}</b> expires
          </>
        ),
        when: <Ago at={k.expires_at} />,
      });
  for (const c of (changes.data ?? []).slice(0, 4))
    items.push({
      key: `c${c.id}`,
      icon: <GitCompare size={15} color="var(--warn)" />,
      to: `/tools/${encodeURIComponent(`${c.server}__${c.tool}`)}?tab=changes`,
      what: (
        <>
          <b>{c.tool}</b> of {c.server} changed
        </>
      ),
      when: <Ago at={c.seen_at} />,
    });
  for (const c of calls.filter(failed).slice(0, 5))
    items.push({
      key: c.id,
      icon: <ShieldAlert size={15} color="var(--soft)" />,
      to: `/calls/${c.id}`,
      what: (
        <>
          <b>{c.name}</b> {c.reason || ''}
        </>
      ),
      when: <Status status={c.status} />,
    });
  return (
    <Panel title="Needs attention">
      {items.length === 0 ? (
        <Empty icon={<Check size={28} strokeWidth={1.5} aria-hidden />} title="Nothing needs attention">
          All servers are healthy, no tool definition changed, and no recent call failed.
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
  const steps = useFirstSteps();
  const [hidden, setHidden] = useLocalStorage({ key: 'junctor-guide-hidden', defaultValue: false, getInitialValueInEffect: false });
  if (hidden || !steps || steps.every((s) => s.done)) return null;
  return (
    <Panel
      title="First steps"
      acts={
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setHidden(true)}>
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
