import { Button, SegmentedControl } from '@mantine/core';
import { X } from 'lucide-react';
import { Link } from 'wouter';
import { useWho } from '../api/data';
import { DayChart } from '../parts/DayChart';
import { Copy, Head, Panel, Scroll, Status } from '../parts/elements';
import { bytes, count, span } from '../parts/format';
import { usePrincipalPage } from '../parts/Principal';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { type Errors, mostErrors, type Sum, sinceOf, useErrors, useSums } from './usage';

const groups = [
  { value: 'tool', label: 'Tool' },
  { value: 'server', label: 'Server' },
  { value: 'agent', label: 'Agent' },
  { value: 'user', label: 'User' },
  { value: 'endpoint', label: 'Entry point' },
  { value: 'error', label: 'Error' },
];

export default function Usage() {
  const [by, setBy] = useParam('by', 'tool');
  const [days, setDays] = useParam('days', '7');
  const [of, setOf] = useParam('of');
  const since = sinceOf(Number(days));
  const rows = useSums(by, since, {}, by !== 'error');
  const errors = useErrors(since, by === 'error');
  const chosen = by === 'error' ? undefined : rows.data?.find((u) => nameOf(u, by) === of);
  const daily = useSums('day', since, chosen ? filterOf(chosen, by) : {});
  const total = daily.data?.reduce((n, d) => n + d.calls, 0) ?? 0;
  const bad = daily.data?.reduce((n, d) => n + d.errors + d.refused, 0) ?? 0;
  return (
    <>
      <Head title="Usage" sub="Totals of calls. Days are in UTC.">
        <SegmentedControl
          aria-label="Time range"
          value={days}
          onChange={setDays}
          data={[
            { value: '1', label: 'Today' },
            { value: '7', label: '7 days' },
            { value: '30', label: '30 days' },
            { value: '90', label: '90 days' },
          ]}
        />
      </Head>
      <div className="row">
        <p className="grow">
          {daily.data && (
            <>
              <b className="num">{count(total)} calls</b> <span className="soft small">{count(bad)} failed or refused</span>
            </>
          )}
        </p>
        {chosen && (
          <Button size="compact-sm" variant="light" rightSection={<X size={13} />} onClick={() => setOf('')}>
            {of}
          </Button>
        )}
      </div>
      <DayChart
        query={daily}
        since={since}
        days={Number(days)}
        filter={chosen ? filterOf(chosen, by) : {}}
        empty={<Empty title="No calls">There were no calls in this time range.</Empty>}
      />
      <Panel
        title="Totals"
        acts={
          <SegmentedControl
            aria-label="Group by"
            size="xs"
            value={by}
            onChange={(v) => {
              setOf('');
              setBy(v);
            }}
            data={groups}
          />
        }
      >
        {by === 'error' ? (
          <QueryContent query={errors}>{(all) => <ErrorRows all={all} />}</QueryContent>
        ) : (
          <QueryContent query={rows}>{(all) => <Rows all={all} by={by} of={of} choose={setOf} />}</QueryContent>
        )}
      </Panel>
    </>
  );
}

// Share is how much of the largest something is, and how much of it failed.
function Share({ all, bad, most }: { all: number; bad: number; most: number }) {
  return (
    <div className="water" style={{ height: '0.5rem' }}>
      <i style={{ left: 0, width: `${(all / most) * 100}%` }} />
      {bad > 0 && <i className="bad" style={{ left: `${((all - bad) / most) * 100}%`, width: `${(bad / most) * 100}%` }} />}
    </div>
  );
}

function Rows({ all, by, of, choose }: { all: Sum[]; by: string; of: string; choose: (name: string) => void }) {
  const who = useWho();
  if (all.length === 0) return <Empty title="No calls">There were no calls in this time range.</Empty>;
  const most = Math.max(1, ...all.map((x) => x.calls));
  return (
    <Scroll label="Usage">
      <table className="list">
        <thead>
          <tr>
            <th>{groups.find((g) => g.value === by)?.label}</th>
            <th className="right">Calls</th>
            <th className="wide" style={{ width: '22%' }}>
              Share
            </th>
            <th className="right">Failed</th>
            <th className="right wide">Refused</th>
            <th className="right wide">p50</th>
            <th className="right">p95</th>
            <th className="right wide">Bytes out</th>
          </tr>
        </thead>
        <tbody>
          {[...all]
            .sort((a, b) => b.calls - a.calls)
            .map((u) => {
              const name = nameOf(u, by);
              const shown = shownName(u, by, who);
              return (
                <tr key={name} className={name === of ? 'chosen' : ''}>
                  <td className="mono cut">
                    <button type="button" className="plainly" title="Show per day" onClick={() => choose(name === of ? '' : name)}>
                      {shown}
                    </button>
                    {shown !== name && (
                      <span className="row plain tiny soft">
                        <OwnPage u={u} by={by}>
                          {name}
                        </OwnPage>{' '}
                        <Copy value={name} label="Copy the ID" />
                      </span>
                    )}
                  </td>
                  <td className="right num">{count(u.calls)}</td>
                  <td className="wide">
                    <Share all={u.calls} bad={u.errors + u.refused} most={most} />
                  </td>
                  <td className="right num" style={u.errors ? { color: 'var(--bad)' } : {}}>
                    {count(u.errors)}
                  </td>
                  <td className="right num wide">{count(u.refused)}</td>
                  <td className="right num wide">{u.calls > u.refused ? span(u.p50_ns) : '–'}</td>
                  <td className="right num">{u.calls > u.refused ? span(u.p95_ns) : '–'}</td>
                  <td className="right num wide soft">{bytes(u.bytes_out)}</td>
                </tr>
              );
            })}
        </tbody>
      </table>
    </Scroll>
  );
}

function ErrorRows({ all }: { all: Errors[] }) {
  if (all.length === 0) return <Empty title="No errors">No call failed or was refused in this time range.</Empty>;
  const most = Math.max(1, ...all.map((x) => x.calls));
  return (
    <Scroll label="Errors">
      <table className="list">
        <thead>
          <tr>
            <th>Outcome</th>
            <th>Code</th>
            <th className="right">Calls</th>
            <th className="wide" style={{ width: '18%' }}>
              Share
            </th>
            <th className="wide">Latest reason</th>
          </tr>
        </thead>
        <tbody>
          {all.map((e) => (
            <tr key={`${e.status} ${e.code}`}>
              <td>
                <Link href={`/calls?status=${e.status}`}>
                  <Status status={e.status} />
                </Link>
              </td>
              <td className="mono">{e.code}</td>
              <td className="right num">
                {e.calls >= mostErrors ? 'over ' : ''}
                {count(e.calls)}
              </td>
              <td className="wide">
                <Share all={e.calls} bad={e.calls} most={most} />
              </td>
              <td className="wide cut">
                <Link className="link" href={`/calls/${e.newest}`}>
                  {e.reason || 'Show the call'}
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function nameOf(u: Sum, by: string): string {
  switch (by) {
    case 'tool':
      return u.server ? `${u.server}/${u.name}` : (u.name ?? '–');
    case 'server':
      return u.server || '–';
    case 'agent':
      return u.agent || (u.subject ? `${u.issuer}: ${u.subject}` : '–');
    case 'user':
      return u.user || u.subject || 'no user';
    default:
      return u.entry_point ?? '–';
  }
}

// OwnPage is the ID of a row, as a link if the user or key has a page.
function OwnPage({ u, by, children }: { u: Sum; by: string; children: string }) {
  const pageOf = usePrincipalPage();
  const page = by === 'user' ? pageOf('user', u.user || u.subject || '') : pageOf(u.issuer ?? '', u.subject ?? '');
  if (!page) return <span className="cut">{children}</span>;
  return (
    <Link className="link cut" href={page}>
      {children}
    </Link>
  );
}

// shownName is the name of a row for people: totals know users and keys by their IDs.
function shownName(u: Sum, by: string, who: ReturnType<typeof useWho>): string {
  const subject = by === 'user' ? u.user || u.subject : u.subject;
  if (!subject || (by !== 'user' && (by !== 'agent' || u.agent))) return nameOf(u, by);
  const name = who({ issuer: by === 'user' ? 'user' : (u.issuer ?? ''), subject });
  return name === subject ? nameOf(u, by) : name;
}

// filterOf asks for the calls of a row alone.
function filterOf(u: Sum, by: string): Record<string, string> {
  switch (by) {
    case 'tool':
      return { ...(u.server ? { server: u.server } : {}), ...(u.name ? { tool: u.name } : {}) };
    case 'server':
      return u.server ? { server: u.server } : {};
    case 'agent':
      return u.agent ? { agent: u.agent } : u.subject ? { caller: u.subject } : {};
    case 'user':
      return u.user ? { user: u.user } : {};
    default:
      return u.entry_point ? { entry_point: u.entry_point } : {};
  }
}
