import { type Outage, useOutages } from '../api/metrics';
import { SeverityIcon } from './AttentionSummary';
import { Chart } from './Chart';
import { type ChartData, countSpans, sumSpans } from './chartData';
import { Panel } from './elements';
import { absolute, age, count, counted } from './format';
import { callsIn } from './range';
import { Empty, QueryContent } from './states';
import type { RangeChoice } from './useRange';

// newHealthData counts the servers that did not work in each step.
function newHealthData(outages: readonly Outage[], choice: RangeChoice, now: number): ChartData {
  const { from, to } = choice.range;
  const step = Math.max(60_000, Math.ceil((to - from) / 96 / 60_000) * 60_000);
  const times: number[] = [];
  for (let at = from; at < to; at += step) times.push(at);
  const line = (label: string, tone: 'failed' | 'refused', part: Outage[]) => ({
    label,
    tone,
    values: countSpans(times, step, part, now),
    total: new Set(part.map((o) => o.server)).size,
  });
  return {
    from,
    to: from + times.length * step,
    step,
    times,
    lines: [
      line(
        'Failing',
        'failed',
        outages.filter((o) => o.severity === 'critical'),
      ),
      line(
        'Logged out',
        'refused',
        outages.filter((o) => o.severity !== 'critical'),
      ),
    ],
  };
}

// HealthChart draws how many servers did not work.
export function HealthChart({ choice, enabled = true }: { choice: RangeChoice; enabled?: boolean }) {
  const outages = useOutages({}, choice.range, enabled);
  return (
    <Chart
      title="Server health"
      kind="bars"
      error={outages.error}
      retry={() => void outages.refetch()}
      zoom={choice.zoom}
      data={outages.data && newHealthData(outages.data.outages, choice, Date.now())}
      href={(from, to) => callsIn(from, to, { status: 'error' })}
      empty={<Empty title="No outages">No server failed or was logged out in this time range.</Empty>}
    />
  );
}

const shown = 20;

// ServerOutages lists when a server did not work, and for how long.
export function ServerOutages({ server, choice }: { server: string; choice: RangeChoice }) {
  const outages = useOutages({ server }, choice.range);
  const now = Date.now();
  return (
    <Panel title="Outages">
      <QueryContent query={outages} rows={2}>
        {({ outages: items, from, to }) =>
          items.length === 0 ? (
            <Empty title="No outages">The server did not fail in this time range, and was not logged out.</Empty>
          ) : (
            <div className="rows">
              <div className="small soft">
                {counted(items.length, 'outage')}, together {age(sumSpans(items, Date.parse(from), Math.min(now, Date.parse(to))) / 1000)}
              </div>
              {items.slice(0, shown).map((o) => (
                <div key={o.from}>
                  <SeverityIcon severity={o.severity} />
                  <span className="grow small wrap">{o.problem}</span>
                  <span className="small soft num">
                    {absolute(new Date(o.from))} · {o.to ? age((Date.parse(o.to) - Date.parse(o.from)) / 1000) : 'until now'}
                  </span>
                </div>
              ))}
              {items.length > shown && <div className="small soft">and {count(items.length - shown)} more</div>}
            </div>
          )
        }
      </QueryContent>
    </Panel>
  );
}
