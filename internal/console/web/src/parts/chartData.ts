import type { Metrics, Numbers } from '../api/metrics';

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
