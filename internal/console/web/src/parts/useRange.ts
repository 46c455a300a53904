import { useCallback, useEffect, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { type Choosing, newRange, type Range, usualRange } from './range';

// All screens with charts share the range. The address has it, so that links lead to what
// is shown; a screen that is opened without a range takes the one that was chosen last.

let last: Choosing = { range: usualRange, from: '', to: '', live: true };

function write(params: URLSearchParams, c: Choosing): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const name of ['range', 'from', 'to', 'live']) next.delete(name);
  if (c.range !== usualRange) next.set('range', c.range);
  if (c.range === 'custom') {
    next.set('from', c.from);
    next.set('to', c.to);
  } else if (!c.live) next.set('live', 'off');
  return next;
}

const isIn = (params: URLSearchParams) => ['range', 'live'].some((name) => params.has(name));

export interface RangeChoice {
  range: Range;
  choose: (key: string) => void;
  // With replace, the former range is not kept in the browser's history.
  zoom: (from: number, to: number, replace?: boolean) => void;
  follow: (live: boolean) => void;
}

export function useRange(): RangeChoice {
  const [params, setParams] = useSearchParams();
  const given = isIn(params);
  const key = given ? (params.get('range') ?? usualRange) : last.range;
  const from = given ? (params.get('from') ?? '') : last.from;
  const to = given ? (params.get('to') ?? '') : last.to;
  const live = given ? params.get('live') !== 'off' : last.live;
  const chosen = useMemo(() => ({ range: key, from, to, live }), [key, from, to, live]);
  const set = useCallback(
    (c: Choosing, replace: boolean) => {
      last = c;
      setParams((now) => write(now, c), { replace });
    },
    [setParams],
  );
  useEffect(() => {
    last = chosen;
    if (!given && (key !== usualRange || !live)) set(chosen, true);
  }, [given, key, live, chosen, set]);
  return useMemo(
    () => ({
      range: newRange(chosen, Date.now()),
      choose: (range) => {
        const now = newRange(chosen, Date.now());
        set(
          range === 'custom'
            ? { range, from: new Date(now.from).toISOString(), to: new Date(now.to).toISOString(), live: chosen.live }
            : { range, from: '', to: '', live: true },
          false,
        );
      },
      zoom: (from, to, replace = false) =>
        set({ range: 'custom', from: new Date(from).toISOString(), to: new Date(to).toISOString(), live: true }, replace),
      follow: (live) => set(chosen.range === 'custom' ? { range: usualRange, from: '', to: '', live: true } : { ...chosen, live }, false),
    }),
    [chosen, set],
  );
}
