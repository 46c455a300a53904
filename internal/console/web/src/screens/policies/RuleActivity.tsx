import { failedCalls, noNumbers, refusedCalls, useMetrics } from '../../api/metrics';
import { Figure, waiting } from '../../parts/Activity';
import { Chart } from '../../parts/Chart';
import { type LineOf, newChartData } from '../../parts/chartData';
import { count } from '../../parts/format';
import { RangePicker } from '../../parts/RangePicker';
import { nameOf } from '../../parts/range';
import { Empty } from '../../parts/states';
import { useRange } from '../../parts/useRange';

const outcomes: LineOf[] = [
  { label: 'Made', tone: 'success', value: (n) => n.calls - failedCalls(n) - refusedCalls(n) },
  { label: 'Failed', tone: 'failed', value: failedCalls },
  { label: 'Denied', tone: 'refused', value: refusedCalls },
];

// RuleActivity shows how many calls a rule matched over time, and how they ended.
export function RuleActivity({ name }: { name: string }) {
  const choice = useRange();
  const metrics = useMetrics({ by: 'policy', first: name }, choice.range);
  const m = metrics.data;
  const n = m && (m.series[0]?.total ?? noNumbers);
  const figure = (value: number | undefined) => (value === undefined ? (metrics.error ? '–' : waiting) : count(value));
  return (
    <div className="stack activity">
      <div className="row">
        <RangePicker choice={choice} />
      </div>
      <p className="skip" aria-live="polite">
        {nameOf(choice.range)}
      </p>
      <div className="figures">
        <Figure name="Matched" value={figure(n?.calls)} note="calls" />
        <Figure name="Denied" value={figure(n && refusedCalls(n))} note="of those that matched" />
        <Figure name="Made" value={figure(n && n.calls - refusedCalls(n))} note={n ? `${count(failedCalls(n))} failed` : ''} />
      </div>
      <Chart
        title="Calls that the rule matched"
        kind="bars"
        data={m && newChartData(m, outcomes, noNumbers)}
        error={metrics.error}
        retry={() => void metrics.refetch()}
        zoom={choice.zoom}
        height={190}
        empty={<Empty title="No call matched in this time range">Choose a longer time range.</Empty>}
      />
    </div>
  );
}
