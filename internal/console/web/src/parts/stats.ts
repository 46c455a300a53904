import type { Call } from '../api/client';

export interface Bucket {
  from: number;
  ok: number;
  failed: number;
}

export const failed = (c: Pick<Call, 'status'>): boolean => c.status !== 'success' && c.status !== 'running' && c.status !== 'canceled';

// buckets counts calls in equal stretches of time up to now.
export function buckets(calls: readonly Call[], now: number, width: number, count: number): Bucket[] {
  const first = Math.floor(now / width) * width - (count - 1) * width;
  const out = Array.from({ length: count }, (_, i) => ({ from: first + i * width, ok: 0, failed: 0 }));
  for (const c of calls) {
    const b = out[Math.floor((Date.parse(c.start) - first) / width)];
    if (!b) continue;
    if (failed(c)) b.failed++;
    else b.ok++;
  }
  return out;
}

// percentile is the value that a part of all stay below; undefined where there
// are none.
export function percentile(values: number[], part: number): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
}
