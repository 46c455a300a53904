import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { failedCalls, type Metrics, type Numbers, noNumbers, refusedCalls, type Selection, useMetrics } from '../api/metrics';
import { Chart } from './Chart';
import { type LineOf, newChartData } from './chartData';
import { Panel } from './elements';
import { count, short, span } from './format';
import { RangePicker } from './RangePicker';
import { callsIn, nameOf } from './range';
import { Empty } from './states';
import { type RangeChoice, useRange } from './useRange';

// The charts of calls, which the overview has for all and the pages of objects for theirs.

const outcomes: LineOf[] = [
  { label: 'Success', tone: 'success', value: (n) => n.calls - failedCalls(n) - refusedCalls(n) },
  { label: 'Failed', tone: 'failed', value: failedCalls },
  { label: 'Refused', tone: 'refused', value: refusedCalls },
];

const percentiles: LineOf[] = [
  { label: 'p50', tone: 'low', value: (n) => n.p50_us || null },
  { label: 'p95', tone: 'middle', value: (n) => n.p95_us || null },
  { label: 'p99', tone: 'high', value: (n) => n.p99_us || null },
];

const definitions: LineOf[] = [{ label: 'Tokens', tone: 'low', value: (n) => n.definition_tokens }];

const microseconds = (us: number) => span(us * 1000);
const approximate = (n: number) => (n < 1000 ? count(n) : short(n).replace('.0k', 'k'));
const latencyMark = (us: number) => (us === 0 ? '0' : microseconds(us).replace('.0 ', ' '));

export interface ActivityQuery {
  data: Metrics | undefined;
  error: unknown;
  refetch: () => unknown;
}

// CallCharts draws calls by outcome, their latency and the tokens of tool definitions.
export function CallCharts({
  metrics,
  choice,
  filter = {},
  tokens = true,
  children,
}: {
  metrics: ActivityQuery;
  choice: RangeChoice;
  filter?: Readonly<Record<string, string>>;
  tokens?: boolean;
  children?: ReactNode;
}) {
  const m = metrics.data;
  const part = (lines: LineOf[]) => m && newChartData(m, lines, noNumbers);
  const href = (from: number, to: number) => callsIn(from, to, filter);
  const common = { error: metrics.error, retry: () => void metrics.refetch(), zoom: choice.zoom };
  const noCalls = (title: string) => (
    <Empty title={title}>
      Choose a longer time range, or{' '}
      <Link className="link" href="/playground">
        try a tool
      </Link>
      .
    </Empty>
  );
  const total = m && (m.series[0]?.total ?? noNumbers);
  if (total && total.calls + total.tool_lists === 0) return <Panel title="Calls">{noCalls('No calls in this time range')}</Panel>;
  return (
    <>
      <Chart
        {...common}
        title="Calls"
        kind="bars"
        data={part(outcomes)}
        href={href}
        axis={approximate}
        empty={noCalls('No calls in this time range')}
        height={190}
      />
      <div className={tokens || children ? 'columns' : ''}>
        <Chart
          {...common}
          title="Latency"
          kind="lines"
          data={part(percentiles)}
          href={href}
          format={microseconds}
          axis={latencyMark}
          empty={noCalls('No call ran in this time range')}
        />
        {tokens && (
          <Chart
            {...common}
            title="Tokens of tool definitions"
            kind="bars"
            data={part(definitions)}
            axis={approximate}
            empty={
              <Empty title="No client listed tools in this time range">
                The chart estimates how many tokens the listed tool definitions use in models.
              </Empty>
            }
          />
        )}
        {children}
      </div>
    </>
  );
}

export const Figure = ({ name, value, note, bad = false }: { name: string; value: ReactNode; note?: ReactNode; bad?: boolean }) => (
  <div className={`figure ${bad ? 'bad' : ''}`}>
    <div className="name">{name}</div>
    <div className="value">{value}</div>
    <div className="note">{note}</div>
  </div>
);

export const waiting = <span className="bone value-bone" role="status" aria-label="Loading" />;

const percent = (part: number, all: number): string => {
  const p = (part / all) * 100;
  return `${p.toFixed(p > 0 && p < 10 ? 1 : 0)} %`;
};

// rate is how many calls a period has per second.
function rate(n: number, m: Metrics): string {
  const seconds = (Date.parse(m.to) - Date.parse(m.from)) / 1000;
  const r = n / seconds;
  return `${r === 0 || r >= 10 ? r.toFixed(0) : r.toPrecision(2)} req/s`;
}

// CallFigures are the numbers of the whole range.
export function CallFigures({ m, failed }: { m: Metrics | undefined; failed: boolean }) {
  const n: Numbers | undefined = m && (m.series[0]?.total ?? noNumbers);
  const wait = failed ? '–' : waiting;
  if (!m || !n)
    return (
      <>
        {['Calls', 'Error rate', 'Refused', 'Latency p95'].map((name) => (
          <Figure key={name} name={name} value={wait} />
        ))}
      </>
    );
  const [bad, refused] = [failedCalls(n), refusedCalls(n)];
  return (
    <>
      <Figure name="Calls" value={count(n.calls)} note={rate(n.calls, m)} />
      <Figure name="Error rate" value={n.calls ? percent(bad, n.calls) : '–'} note={`${count(bad)} failed`} bad={bad > 0} />
      <Figure name="Refused" value={count(refused)} note={n.calls ? percent(refused, n.calls) : 'no calls'} />
      <Figure
        name="Latency p95"
        value={n.p95_us ? microseconds(n.p95_us) : '–'}
        note={n.p50_us ? `p50 ${microseconds(n.p50_us)} · p99 ${microseconds(n.p99_us)}` : 'no calls ran'}
      />
    </>
  );
}

// Activity is the content of the tab of an object. filter is that of its list of calls. more is
// shown in any case, children only if there are calls.
export function Activity({
  of,
  filter,
  tokens = true,
  more,
  children,
}: {
  of: Selection;
  filter: Readonly<Record<string, string>>;
  tokens?: boolean;
  more?: (choice: RangeChoice) => ReactNode;
  children?: (choice: RangeChoice) => ReactNode;
}) {
  const choice = useRange();
  const metrics = useMetrics(of, choice.range);
  const m = metrics.data;
  return (
    <div className="stack activity">
      <div className="row">
        <RangePicker choice={choice} />
        {m && (
          <Link className="link small" href={callsIn(Date.parse(m.from), Date.parse(m.to), filter)}>
            View all calls
          </Link>
        )}
      </div>
      <p className="skip" aria-live="polite">
        {nameOf(choice.range)}
      </p>
      <div className="figures">
        <CallFigures m={m} failed={metrics.error !== null} />
      </div>
      <CallCharts metrics={metrics} choice={choice} filter={filter} tokens={tokens} />
      {(m?.series[0]?.total.calls ?? 0) > 0 && children?.(choice)}
      {more?.(choice)}
    </div>
  );
}
