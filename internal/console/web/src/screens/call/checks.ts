import type { Call } from '../../api/client';

// What the record of a call says of its way, gate by gate.

export interface Check {
  name: string;
  passed: string; // what it means that it was passed
}

// checks are in the order in which a call comes to them.
export const checks: Check[] = [
  { name: 'Visibility', passed: 'The caller can see it.' },
  { name: 'Scopes', passed: 'The key or login has the required scope.' },
  { name: 'Limits', passed: 'Within the limits of the caller and the tool.' },
  { name: 'Arguments', passed: 'Valid for the schema of the tool.' },
  { name: 'Rules', passed: 'No rule denies the call.' },
  { name: 'Record', passed: 'Written to the journal before the server received the call.' },
];

// A call whose result a rule withholds is denied too, after it ran.
export const isRefused = (c: Pick<Call, 'status' | 'timing'>): boolean =>
  ['denied', 'limited', 'invalid'].includes(c.status) && c.timing?.answered_ns === undefined;

// stoppedAt is the gate that a refused call did not pass; as many as there are
// where it passed all.
export function stoppedAt(
  c: Pick<Call, 'status' | 'code' | 'reason' | 'timing'> & { policy?: { decided?: boolean }[] | undefined },
): number {
  if (!isRefused(c)) return checks.length;
  if (c.status === 'limited') return 2;
  if (c.status === 'denied' && c.policy?.some((h) => h.decided)) return 4;
  if (c.status === 'denied') return /scope/.test(c.reason ?? '') ? 1 : 0;
  if (c.status === 'invalid') return c.code === 'not_found' || !/argument|schema|too large/i.test(c.reason ?? '') ? 0 : 3;
  return checks.length;
}

export interface Span {
  name: string;
  from: number; // nanoseconds since the start
  to: number;
  failed?: boolean;
}

// spans are where the time of a call went. A moment that is not known takes none.
export function spans(c: Pick<Call, 'timing' | 'duration_ns' | 'server' | 'status'>): Span[] {
  const t = c.timing;
  const end = c.duration_ns;
  if (!t || end === undefined) return [];
  const out: Span[] = [];
  let at = 0;
  const add = (name: string, to: number | undefined, failed = false) => {
    if (to === undefined || to <= at) return;
    out.push({ name, from: at, to: Math.min(to, end), ...(failed ? { failed } : {}) });
    at = Math.min(to, end);
  };
  add('Checks', t.admitted_ns);
  for (const [i, f] of (t.failed ?? []).entries()) {
    if (f.at_ns > at) add('Pause', f.at_ns);
    add(`Attempt ${i + 1}: ${f.code}`, f.at_ns + f.took_ns, true);
  }
  add('Connection', t.connected_ns);
  add(`${c.server || 'Server'}${t.failed?.length ? `, attempt ${t.failed.length + 1}` : ''}`, t.answered_ns ?? end, c.status !== 'success');
  add('Record and respond', end);
  return out;
}
