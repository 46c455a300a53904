import { useEffect, useRef, useState } from 'react';
import { Failure, type Problem } from '../../api/client';
import { stream } from '../../api/stream';
import type { Schema } from '../../parts/schema';
import { useKept } from '../../parts/store';
import type { Ask } from '../InputRequests';

export type Kind = 'tool' | 'resource' | 'prompt';

// Target is something to try.
export interface Target {
  kind: Kind;
  name: string;
  server: string; // "" where name is the exposed one
  title: string;
  about: string;
  schema: Schema;
  app?: boolean; // whether the tool has a page
}

export interface RunResult {
  result: Record<string, unknown> & { inputRequests?: Record<string, Ask>; requestState?: string };
  is_error?: boolean;
  input?: boolean;
  task?: boolean;
  duration_ns: number;
  call?: string;
}

// PastRun is something that was tried. ns is the duration that its record has, or how long
// it took here if there is no record.
export interface PastRun {
  id: string;
  at: string;
  kind: Kind;
  name: string;
  server: string;
  args: unknown;
  outcome: string;
  ns: number;
  call?: string;
  result?: unknown; // absent if it is too large to be kept
}

export interface Run {
  busy: boolean;
  began: number;
  first: number; // when the call began that answers to questions go on with
  progress?: { progress: number; total?: number; message?: string };
  log: { level: string; text: string }[];
  answer?: RunResult;
  error?: unknown;
}

// The form and the outcome stand in two columns and share one run.
const idle: Run = { busy: false, began: 0, first: 0, log: [] };
let run: Run = idle;
let runOf = '';
const watching = new Set<() => void>();
function setRun(of: string, change: (r: Run) => Run) {
  run = change(runOf === of ? run : idle);
  runOf = of;
  for (const w of watching) w();
}
export function useRun(of: string): Run {
  const [, draw] = useState(0);
  useEffect(() => {
    const w = () => draw((n) => n + 1);
    watching.add(w);
    return () => {
      watching.delete(w);
    };
  }, []);
  return runOf === of ? run : idle;
}
export const keyOf = (t: { kind: string; server: string; name: string }) => `${t.kind} ${t.server} ${t.name}`;

let abort: AbortController | undefined;
let last: unknown = {};
export const cancel = () => abort?.abort();
export const lastArgs = () => last;

// fill puts arguments into the holes of an address.
export const fill = (template: string, args: Record<string, unknown>) =>
  template.replace(/\{([+#./;?&])?([^}]+)\}/g, (_, _op, hole: string) => encodeURIComponent(String(args[hole] ?? '')));

export async function start(t: Target, args: unknown, past: (p: PastRun) => void, more: Record<string, unknown> = {}) {
  const of = keyOf(t);
  abort?.abort();
  const control = new AbortController();
  abort = control;
  last = args;
  const begun = performance.now();
  setRun(of, (r) => {
    const goesOn = more.request_state !== undefined;
    return { busy: true, began: begun, first: goesOn ? r.first : begun, log: goesOn ? r.log : [] };
  });
  const note = (outcome: string, answer?: RunResult) =>
    past({
      id: crypto.randomUUID(),
      at: new Date().toISOString(),
      kind: t.kind,
      name: t.name,
      server: t.server,
      args,
      outcome,
      ns: answer?.duration_ns ?? (performance.now() - begun) * 1e6,
      ...(answer?.call ? { call: answer.call } : {}),
      ...(answer && JSON.stringify(answer.result).length <= mostKept ? { result: answer.result } : {}),
    });
  const body: Record<string, unknown> = {
    kind: t.kind,
    name: t.kind === 'resource' ? fill(t.name, (args ?? {}) as Record<string, unknown>) : t.name,
    ...more,
  };
  if (t.server) body.server = t.server;
  if (t.kind !== 'resource') body.arguments = args;
  try {
    await stream('POST', '/run', body, control.signal, (e) => {
      const data = JSON.parse(e.data) as unknown;
      if (e.name === 'progress') setRun(of, (r) => ({ ...r, progress: data as Run['progress'] }));
      else if (e.name === 'log') {
        const l = data as { level: string; params: { data?: unknown } };
        const text = typeof l.params.data === 'string' ? l.params.data : JSON.stringify(l.params.data ?? l.params);
        setRun(of, (r) => ({ ...r, log: [...r.log, { level: l.level, text }].slice(-200) }));
      } else if (e.name === 'result') {
        const answer = data as RunResult;
        setRun(of, (r) => ({ ...r, busy: false, answer }));
        note(answer.input ? 'asked' : answer.is_error ? 'error' : 'success', answer);
      } else if (e.name === 'error') throw new Failure(data as Problem, 'POST /run');
    });
    setRun(of, (r) =>
      r.busy
        ? {
            ...r,
            busy: false,
            error: new Failure({ code: 'unreachable', detail: 'The response ended before the result.' }, 'POST /run'),
          }
        : r,
    );
  } catch (error) {
    if (control.signal.aborted) {
      if (abort === control)
        setRun(of, (r) => ({
          ...r,
          busy: false,
          error: new Failure(
            { code: 'canceled', detail: 'You cancelled the call. The server was notified.', hint: 'You can call it again.' },
            'POST /run',
          ),
        }));
      note('canceled');
      return;
    }
    setRun(of, (r) => ({ ...r, busy: false, error }));
    note(error instanceof Failure ? error.problem.code : 'failed');
  }
}

const mostKept = 100_000; // characters of a result that are kept for a comparison

export const useRunHistory = () => useKept<PastRun[]>(sessionStorage, 'junctor-runs', []);

// useCompared has the ids of at most two runs whose results are compared.
export const useCompared = () => useKept<string[]>(sessionStorage, 'junctor-compared', []);

// useRecordRun gives what takes down a run.
export function useRecordRun() {
  const [pasts, setPasts] = useRunHistory();
  const now = useRef(pasts);
  now.current = pasts;
  return (p: PastRun) => setPasts([p, ...now.current].slice(0, 30));
}

// draftKey is where arguments are kept while somebody writes them.
export const draftKey = (t: { kind: string; server: string; name: string }) => `junctor-args ${keyOf(t)}`;

// leaveArgs puts arguments where the form for a target finds them.
export const leaveArgs = (t: { kind: string; server: string; name: string }, args: unknown) =>
  sessionStorage.setItem(draftKey(t), JSON.stringify({ text: JSON.stringify(args ?? {}, null, 2) }));
