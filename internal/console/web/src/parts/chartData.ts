import type { Schemas } from '../api/client';
import type { Metrics, Numbers } from '../api/metrics';

type Sum = Schemas['Usage'];

// What a chart draws, and how it is saved as a table.

// Tone is a color of a chart: --chart-<tone> in app.css.
export type Tone = 'success' | 'failed' | 'refused' | 'low' | 'middle' | 'high';

export interface Line {
  label: string;
  tone: Tone;
  values: (number | null)[]; // of each step; null draws nothing
  total: number | null; // of the whole range, as the API has it
}

export interface ChartData {
  from: number; // of the first step
  to: number; // the end of the last step
  step: number; // milliseconds
  times: number[]; // the start of each step
  lines: Line[];
}

export interface LineOf {
  label: string;
  tone: Tone;
  value: (n: Numbers) => number | null;
}

// newChartData returns the values of each step of an answer. A step without a point has the
// values of none.
export function newChartData(m: Metrics, lines: readonly LineOf[], none: Numbers): ChartData {
  const step = m.step_seconds * 1000;
  const from = Date.parse(m.from);
  const to = Date.parse(m.to);
  const one = m.series[0];
  const points = new Map((one?.points ?? []).map((p) => [Date.parse(p.time), p]));
  const times: number[] = [];
  for (let at = from; at < to; at += step) times.push(at);
  return {
    from,
    to,
    step,
    times,
    lines: lines.map(({ label, tone, value }) => ({
      label,
      tone,
      values: times.map((at) => value(points.get(at) ?? none)),
      total: value(one?.total ?? none),
    })),
  };
}

export interface StepLine<P> {
  label: string;
  tone: Tone;
  value: (p: P) => number | null;
  total: (points: readonly P[]) => number | null;
}

// newStepData returns the values of an answer that has a point for each step.
export function newStepData<P extends { time: string }>(
  m: { from: string; to: string; step_seconds: number; points: readonly P[] },
  lines: readonly StepLine<P>[],
): ChartData {
  return {
    from: Date.parse(m.from),
    to: Date.parse(m.to),
    step: m.step_seconds * 1000,
    times: m.points.map((p) => Date.parse(p.time)),
    lines: lines.map(({ label, tone, value, total }) => ({ label, tone, values: m.points.map(value), total: total(m.points) })),
  };
}

// Span is a time that something lasted; without an end it still lasts.
export interface Span {
  from: string;
  to?: string | undefined;
}

// countSpans counts the spans that each step overlaps. Nothing is known of the future.
export function countSpans(times: readonly number[], step: number, spans: readonly Span[], now: number): number[] {
  const bounds = spans.map((s): [number, number] => [Date.parse(s.from), s.to ? Date.parse(s.to) : now]);
  return times.map((at) => bounds.filter(([from, to]) => from < at + step && (to > at || (from === to && from >= at)) && at < now).length);
}

// sumSpans returns for how long at least one of the spans lasted between two moments.
export function sumSpans(spans: readonly Span[], from: number, to: number): number {
  const bounds = spans
    .map((s): [number, number] => [Math.max(from, Date.parse(s.from)), Math.min(to, s.to ? Date.parse(s.to) : to)])
    .sort((a, b) => a[0] - b[0]);
  let sum = 0;
  let covered = from;
  for (const [begin, end] of bounds) {
    if (end > Math.max(begin, covered)) sum += end - Math.max(begin, covered);
    covered = Math.max(covered, end);
  }
  return sum;
}

export const isEmpty = (d: ChartData): boolean => d.lines.every((l) => l.values.every((v) => !v));

const quote = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// toCSV writes a row for each step.
export function toCSV(d: ChartData): string {
  const head = ['time', ...d.lines.map((l) => l.label)].map(quote);
  const rows = d.times.map((at, i) => [new Date(at).toISOString(), ...d.lines.map((l) => l.values[i] ?? '')]);
  return `${[head, ...rows].map((r) => r.join(',')).join('\n')}\n`;
}

// stack returns the layers of stacked bars, the highest first, so that each covers the lower
// end of the one before. A part of zero has no bar.
export function stack(d: ChartData): (number | null)[][] {
  const sums = d.times.map(() => 0);
  return d.lines
    .map((l) =>
      l.values.map((v, i) => {
        if (!v) return null;
        sums[i] = (sums[i] ?? 0) + v;
        return sums[i] as number;
      }),
    )
    .reverse();
}

const day = 86_400_000;

const outcomes: [string, Tone, (s: Sum) => number][] = [
  ['Success', 'success', (s) => s.calls - s.errors - s.refused],
  ['Failed', 'failed', (s) => s.errors],
  ['Refused', 'refused', (s) => s.refused],
];

// newDayData has a step for each day, also for those without calls.
export function newDayData(sums: readonly Sum[], since: string, days: number): ChartData {
  const from = Date.parse(`${since}T00:00:00Z`);
  const times = Array.from({ length: days }, (_, i) => from + i * day);
  const of = new Map(sums.flatMap((s): [number, Sum][] => (s.day ? [[Date.parse(s.day), s]] : [])));
  return {
    from,
    to: from + days * day,
    step: day,
    times,
    lines: outcomes.map(([label, tone, value]) => ({
      label,
      tone,
      values: times.map((at) => (of.has(at) ? value(of.get(at) as Sum) : 0)),
      total: sums.reduce((n, s) => n + value(s), 0),
    })),
  };
}
