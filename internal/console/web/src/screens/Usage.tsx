import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { get, type Page, query, type Schemas } from '../api/client';
import { Bars } from '../parts/Bars';
import { Head, Panel, Scroll } from '../parts/bits';
import { bytes, count, span } from '../parts/format';
import { Empty, Shown } from '../parts/states';
import { useParam } from '../parts/url';

type Row = Schemas['Usage'];

const groups = [
  { value: 'tool', label: 'Tool' },
  { value: 'agent', label: 'Agent' },
  { value: 'user', label: 'Person' },
  { value: 'door', label: 'Door' },
];

export default function Usage() {
  const [by, setBy] = useParam('by', 'tool');
  const [days, setDays] = useParam('days', '7');
  const since = new Date(Date.now() - (Number(days) - 1) * 86_400_000).toISOString().slice(0, 10);
  const ask = (group: string) => ({
    queryKey: ['usage', group, since],
    queryFn: ({ signal }: { signal: AbortSignal }) => get<Page<Row>>(`/usage${query({ by: group, since: `${since}T00:00:00Z` })}`, signal),
    select: (p: Page<Row>) => p.items,
  });
  const rows = useQuery(ask(by));
  const perDay = useQuery(ask('day'));
  const buckets = Array.from({ length: Number(days) }, (_, i) => {
    const from = Date.parse(`${since}T00:00:00Z`) + i * 86_400_000;
    const u = perDay.data?.find((d) => d.day && Date.parse(d.day) === from);
    const bad = (u?.errors ?? 0) + (u?.refused ?? 0);
    return { from, ok: (u?.calls ?? 0) - bad, failed: bad };
  });
  const total = perDay.data?.reduce((n, d) => n + d.calls, 0) ?? 0;
  return (
    <>
      <Head title="Usage" sub="Sums over calls. Days are in UTC.">
        <SegmentedControl
          aria-label="How far back"
          value={days}
          onChange={setDays}
          data={[
            { value: '1', label: 'Today' },
            { value: '7', label: '7 days' },
            { value: '30', label: '30 days' },
          ]}
        />
      </Head>
      <Panel title={`${count(total)} calls`} pad>
        <Shown query={perDay} rows={3}>
          {() => (
            <Bars
              buckets={buckets}
              label={`Calls in the last ${days} days`}
              height={120}
              name={(b) => new Date(b.from).toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })}
            />
          )}
        </Shown>
      </Panel>
      <Panel title="By" acts={<SegmentedControl aria-label="Sum up by" size="xs" value={by} onChange={setBy} data={groups} />}>
        <Shown query={rows}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="Nothing was called">In this time.</Empty>
            ) : (
              <Scroll label="Usage">
                <table className="list">
                  <thead>
                    <tr>
                      <th>{groups.find((g) => g.value === by)?.label}</th>
                      <th className="right">Calls</th>
                      <th className="wide" style={{ width: '22%' }} aria-label="Share" />
                      <th className="right">Failed</th>
                      <th className="right wide">Refused</th>
                      <th className="right wide">Half within</th>
                      <th className="right">95 of 100</th>
                      <th className="right wide">Out</th>
                    </tr>
                  </thead>
                  <tbody>
                    {[...all]
                      .sort((a, b) => b.calls - a.calls)
                      .map((u, i) => (
                        <tr key={i}>
                          <td className="mono cut">{nameOf(u, by)}</td>
                          <td className="right num">{count(u.calls)}</td>
                          <td className="wide">
                            <div className="water" style={{ height: '0.5rem' }}>
                              <i style={{ left: 0, width: `${(u.calls / Math.max(1, ...all.map((x) => x.calls))) * 100}%` }} />
                            </div>
                          </td>
                          <td className="right num" style={u.errors ? { color: 'var(--bad)' } : {}}>
                            {count(u.errors)}
                          </td>
                          <td className="right num wide">{count(u.refused)}</td>
                          <td className="right num wide">{u.calls > u.refused ? span(u.p50_ns) : '–'}</td>
                          <td className="right num">{u.calls > u.refused ? span(u.p95_ns) : '–'}</td>
                          <td className="right num wide soft">{bytes(u.bytes_out)}</td>
                        </tr>
                      ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </Shown>
      </Panel>
    </>
  );
}

function nameOf(u: Row, by: string): string {
  switch (by) {
    case 'tool':
      return u.server ? `${u.server}/${u.name}` : (u.name ?? '–');
    case 'agent':
      return u.agent || (u.subject ? `${u.issuer}: ${u.subject}` : '–');
    case 'user':
      return u.user || u.subject || 'nobody’s';
    default:
      return u.door ?? '–';
  }
}
