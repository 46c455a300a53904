import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { failedCalls, type Metrics, refusedCalls, type Series, useMetrics } from '../api/metrics';
import { Panel } from './elements';
import { count, span } from './format';
import { callsIn } from './range';
import { Empty, QueryContent } from './states';
import type { RangeChoice } from './useRange';

// TopList shows the series with the most calls as bars that lead to their calls.
export function TopList({
  title,
  query,
  name,
  href,
  empty = 'There were no calls in this time range.',
}: {
  title: string;
  query: { data: Metrics | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  name: (s: Series) => ReactNode;
  href: (s: Series, m: Metrics) => string;
  empty?: string;
}) {
  return (
    <Panel
      title={title}
      acts={query.data && query.data.count > query.data.series.length && <span className="small soft">of {count(query.data.count)}</span>}
    >
      <QueryContent query={query} rows={4}>
        {(m) => {
          const all = m.series.filter((s) => s.total.calls > 0);
          if (all.length === 0) return <Empty title="No calls">{empty}</Empty>;
          const most = all[0]?.total.calls ?? 1;
          return (
            <div className="rows top">
              {all.map((s) => {
                const bad = failedCalls(s.total) + refusedCalls(s.total);
                return (
                  <Link key={`${s.first}\n${s.second ?? ''}`} href={href(s, m)}>
                    <span className="grow">
                      <span className="row plain">
                        <span className="grow cut small">{name(s)}</span>
                        {bad > 0 && <span className="tiny bad num">{count(bad)} failed or refused</span>}
                        <b className="small num">{count(s.total.calls)}</b>
                        <span className="tiny soft num p95 wide">{s.total.p95_us > 0 ? `p95 ${span(s.total.p95_us * 1000)}` : ''}</span>
                      </span>
                      <span className="water" aria-hidden>
                        <i style={{ width: `${(s.total.calls / most) * 100}%` }} />
                        {bad > 0 && (
                          <i
                            className="bad"
                            style={{ left: `${((s.total.calls - bad) / most) * 100}%`, width: `${(bad / most) * 100}%` }}
                          />
                        )}
                      </span>
                    </span>
                  </Link>
                );
              })}
            </div>
          );
        }}
      </QueryContent>
    </Panel>
  );
}

// split returns the server and the tool of a path.
const split = (path: string): [string, string] => {
  const at = path.indexOf('/');
  return at < 0 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
};

// isName reports whether a key of a series is a name. Sums such as (tasks) are of none.
const isName = (key: string) => key !== '' && !key.startsWith('(');

const mostTools = 6;

// TopTools shows the tools with the most calls: of a server, of an agent, of a user or of all.
export function TopTools({
  choice,
  server,
  agent,
  user,
  own = false,
  filter = {},
  enabled = true,
}: {
  choice: RangeChoice;
  server?: string;
  agent?: string;
  user?: string;
  own?: boolean;
  filter?: Readonly<Record<string, string>>;
  enabled?: boolean;
}) {
  const byPath = agent !== undefined || user !== undefined || own;
  const first = agent ?? user ?? server;
  const tools = useMetrics({ by: agent ? 'agent_tool' : user || own ? 'user_tool' : 'tool', ...(first ? { first } : {}) }, choice.range, {
    limit: mostTools,
    points: false,
    enabled,
  });
  const toolOf = (s: Series): [string, string] => (byPath ? split(s.second ?? '') : [s.first, s.second ?? '']);
  return (
    <TopList
      title="Top tools"
      query={tools}
      name={(s) => <span className="mono">{server ? s.second : toolOf(s).filter(Boolean).join('/')}</span>}
      href={(s, m) => {
        const [of, tool] = toolOf(s);
        return callsIn(Date.parse(m.from), Date.parse(m.to), {
          ...filter,
          ...(agent ? { agent } : {}),
          ...(user ? { user } : {}),
          ...(isName(of) ? { server: of } : {}),
          ...(isName(tool) ? { tool } : {}),
        });
      }}
    />
  );
}
