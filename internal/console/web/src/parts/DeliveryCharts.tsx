import { Link } from 'wouter';
import { type DeliveryPoint, useDeliveryMetrics } from '../api/metrics';
import { Chart } from './Chart';
import { newStepData, type StepLine } from './chartData';
import { age, count } from './format';
import { callsIn } from './range';
import { Empty } from './states';
import type { RangeChoice } from './useRange';

const sum = (of: (p: DeliveryPoint) => number) => (all: readonly DeliveryPoint[]) => all.reduce((n, p) => n + of(p), 0);

const outcomes: StepLine<DeliveryPoint>[] = [
  { label: 'Delivered', tone: 'success', value: (p) => p.done, total: sum((p) => p.done) },
  { label: 'Dead letters', tone: 'failed', value: (p) => p.dead, total: sum((p) => p.dead) },
  { label: 'Discarded', tone: 'refused', value: (p) => p.dropped, total: sum((p) => p.dropped) },
];

const most = (of: (p: DeliveryPoint) => number) => (all: readonly DeliveryPoint[]) => Math.max(0, ...all.map(of));

const depth: StepLine<DeliveryPoint>[] = [{ label: 'Open deliveries', tone: 'middle', value: (p) => p.open, total: most((p) => p.open) }];

const ages: StepLine<DeliveryPoint>[] = [
  { label: 'Oldest open delivery', tone: 'high', value: (p) => p.oldest_seconds, total: most((p) => p.oldest_seconds) },
];

// DeliveryCharts draws how deliveries ended, how many were open, and how old the oldest of these
// was. filter is that of the list of deliveries; calls is that of their calls.
export function DeliveryCharts({
  choice,
  filter = {},
  calls = {},
  enabled = true,
}: {
  choice: RangeChoice;
  filter?: Readonly<Record<string, string>>;
  calls?: Readonly<Record<string, string>>;
  enabled?: boolean;
}) {
  const metrics = useDeliveryMetrics(filter, choice.range, enabled);
  const m = metrics.data;
  const now = Date.now();
  const past = m && { ...m, points: m.points.filter((p) => Date.parse(p.time) <= now) };
  const common = { error: metrics.error, retry: () => void metrics.refetch(), zoom: choice.zoom };
  const href = (from: number, to: number) => callsIn(from, to, { entry_point: 'delivery', ...calls });
  const short = m && Date.parse(m.kept_since) > Date.parse(m.from);
  return (
    <>
      <Chart
        {...common}
        title="Deliveries by outcome"
        note={short ? 'Delivered and discarded ones are kept for 30 days.' : undefined}
        kind="bars"
        data={m && newStepData(m, outcomes)}
        href={href}
        empty={
          <Empty title="No delivery ended in this time range">
            A{' '}
            <Link href="/triggers" className="link">
              trigger
            </Link>{' '}
            makes deliveries of events.
          </Empty>
        }
      />
      <div className="columns">
        <Chart
          {...common}
          title="Queue depth"
          kind="lines"
          legend="most"
          data={past && newStepData(past, depth)}
          format={count}
          empty={<Empty title="No open deliveries">Nothing waited at the end of any step of this time range.</Empty>}
        />
        <Chart
          {...common}
          title="Queue age"
          kind="lines"
          legend="most"
          data={past && newStepData(past, ages)}
          format={age}
          empty={<Empty title="No open deliveries">Nothing waited at the end of any step of this time range.</Empty>}
        />
      </div>
    </>
  );
}
