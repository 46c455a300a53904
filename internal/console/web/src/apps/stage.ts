import { useEffect, useRef, useState } from 'react';
import { Failure } from '../api/client';
import { useVersion } from '../api/data';
import { keyOf, lastArgs, type Target, useRun } from '../screens/playground/run';
import type { CallProgress } from './bridge';
import { parts } from './files';
import { isObject, type Params } from './protocol';
import { RunningApp } from './runningApp';
import type { Settings } from './state';

// What was last called, and what it said, is kept while the tab lives, so that
// an App can be shown as it was without a call.
const key = (name: string) => `junctor-app ${name}`;
const mostKept = 300_000;

export function remembered(name: string): CallProgress | undefined {
  try {
    const text = sessionStorage.getItem(key(name));
    return text ? (JSON.parse(text) as CallProgress) : undefined;
  } catch {
    return undefined;
  }
}

function remember(name: string, progress: CallProgress) {
  const text = JSON.stringify(progress);
  try {
    if (text.length <= mostKept) sessionStorage.setItem(key(name), text);
  } catch {
    // there is no room: nothing is remembered
  }
}

const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));

// play gives a View the arguments, piece by piece where that is wanted.
async function play(running: RunningApp, args: Params, streamed: boolean) {
  if (streamed)
    for (const part of parts(args)) {
      running.partial(part);
      await wait(200);
    }
  running.input(args);
}

// useStage has a View for what is tried with a tool: a new one for each call,
// opened while the call is made. first opens one before anything was called.
export function useStage(target: Target, on: boolean, settings: () => Partial<Settings> & { streamed?: boolean }, first = false) {
  const run = useRun(keyOf(target));
  const version = useVersion().data?.version ?? '';
  const [running, setRunning] = useState<RunningApp>();
  const now = useRef({ call: -1, ended: false, played: Promise.resolve() });
  const more = useRef(settings);
  more.current = settings;

  useEffect(() => {
    if (!on || !version) return;
    const call = run.first;
    if (call === now.current.call || (call === 0 && !first)) return;
    const { streamed = false, ...rest } = more.current();
    const r = new RunningApp({ tool: target.name }, call === 0 ? (remembered(target.name) ?? {}) : {}, { version, ...rest });
    const args = isObject(lastArgs()) ? (lastArgs() as Params) : {};
    now.current = { call, ended: call === 0, played: call === 0 ? Promise.resolve() : play(r, args, streamed) };
    setRunning(r);
  }, [on, version, run.first, target.name, first]);

  const { answer, error, busy } = run;
  useEffect(() => {
    const at = now.current;
    if (!running || at.ended || busy || answer?.input || (!answer && !error)) return;
    at.ended = true;
    const args = lastArgs() as Params;
    void at.played.then(() => {
      if (answer) {
        running.result(answer.result);
        remember(target.name, { input: args, result: answer.result });
      } else running.cancelled(error instanceof Failure ? error.message : 'The call failed.');
    });
  }, [running, busy, answer, error, target.name]);

  return { running, run };
}
