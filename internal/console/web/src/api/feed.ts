import { useEffect, useSyncExternalStore } from 'react';
import { attentionKey } from './attention';
import { afterDeletions, type Call, get, onEnded, type Page } from './client';
import { client } from './data';
import { isDeleted, isOf, setStreaming } from './live';

// The newest calls, kept up to date while somebody looks. They are one list for
// the whole page, so that a screen that comes back finds it as it was. The same stream names
// lists that have changed; on screens without calls it has only those notices.

export interface Feed {
  calls: readonly Call[]; // newest first
  live: boolean;
  loaded: boolean;
  missed: number;
  error: unknown;
}

const most = 2000;

// merge puts calls that have begun or ended into a list, newest first.
export function merge(now: readonly Call[], news: readonly Call[], limit = most): Call[] {
  if (news.length === 0) return now as Call[];
  const byID = new Map(news.map((c) => [c.id, c]));
  const kept = now.map((c) => {
    const newer = byID.get(c.id);
    if (newer) byID.delete(c.id);
    return newer ?? c;
  });
  const fresh = [...byID.values()].sort((a, b) => (a.start < b.start ? 1 : -1));
  const head = kept[0];
  const all = [...fresh, ...kept];
  if (head && fresh.some((c) => c.start < head.start)) all.sort((a, b) => (a.start < b.start ? 1 : -1));
  return all.slice(0, limit);
}

let feed: Feed = { calls: [], live: false, loaded: false, missed: 0, error: null };
const listeners = new Set<() => void>();
let callUsers = 0; // screens that show calls
let pages = 0; // pages that are open, whatever they show
let source: EventSource | undefined;
let withCalls = false; // what source was opened for
let lost = false; // the stream was away for a while, so that notices may have been missed

function set(change: Partial<Feed>) {
  feed = { ...feed, ...change };
  for (const l of listeners) l();
}

async function load() {
  try {
    const page = await get<Page<Call>>('/calls?limit=1000');
    set({ calls: merge(page.items, feed.calls), loaded: true, error: null });
  } catch (error) {
    set({ error, loaded: true });
  }
}

// refetch reads lists again that somebody looks at, but nothing that this page is deleting.
// Single tools are read after the lists: by then a screen shows a tool that was renamed by its
// new name, and nothing asks for the old one.
async function refetch(lists: readonly string[]) {
  await afterDeletions();
  const read = (tool: boolean) =>
    client.invalidateQueries({
      predicate: ({ queryKey }) => (queryKey[0] === 'tool') === tool && isOf(queryKey[0], lists) && !isDeleted(queryKey),
    });
  await read(false);
  setTimeout(() => void read(true)); // when the lists are shown
}

function open(calls: boolean) {
  withCalls = calls;
  source = new EventSource(`/api/v1/calls/tail${calls ? '' : '?calls=false'}`);
  source.onopen = () => {
    setStreaming(true);
    if (lost) void refetch(['*']);
    lost = false;
    if (!calls) return;
    set({ live: true });
    void load(); // and with it what was missed in between
  };
  source.onerror = () => {
    set({ live: false });
    setStreaming(false);
    if (!lost) void refetch(['servers', 'events', 'deliveries', 'endpoints']); // a query sees its new interval when it is read
    lost = true;
    if (source?.readyState === EventSource.CLOSED) {
      close();
      if (callUsers > 0) void load(); // says why
      setTimeout(settle, 3000);
    }
  };
  source.addEventListener('calls', (e) => {
    const part = JSON.parse((e as MessageEvent<string>).data) as { calls: Call[]; missed?: number };
    if (part.calls.length > 0 || part.missed) set({ calls: merge(feed.calls, part.calls), missed: feed.missed + (part.missed ?? 0) });
  });
  source.addEventListener('changed', (e) => void refetch((JSON.parse((e as MessageEvent<string>).data) as { lists: string[] }).lists));
  let first = true;
  source.addEventListener('attention', (e) => {
    client.setQueryData(attentionKey, JSON.parse((e as MessageEvent<string>).data));
    // The first one says how it is, not that it changed.
    if (!first)
      void client.invalidateQueries({ predicate: (q) => isOf(q.queryKey[0], ['attention', 'servers']) && q.queryKey[1] !== 'latest' });
    first = false;
  });
}

function close() {
  source?.close();
  source = undefined;
  setStreaming(false);
}
onEnded(close);

// A page that nobody sees holds no stream: a browser has six connections for a
// host, and what was missed is loaded when the page is looked at again.
const seen = () => document.visibilityState === 'visible';

// settle opens or closes the stream, as what is shown requires.
function settle() {
  const wanted = seen() && pages + callUsers > 0;
  if (wanted && source && withCalls === callUsers > 0) return;
  close();
  lost ||= !wanted;
  if (!wanted || callUsers === 0) set({ live: false });
  if (wanted) open(callUsers > 0);
}
if (typeof document !== 'undefined') document.addEventListener('visibilitychange', settle);

// useChanges keeps lists up to date while a page is open.
export function useChanges(wanted: boolean): void {
  useEffect(() => {
    if (!wanted) return;
    pages++;
    settle();
    return () => {
      pages--;
      setTimeout(settle, 1000);
    };
  }, [wanted]);
}

const subscribe = (l: () => void) => {
  listeners.add(l);
  return () => listeners.delete(l);
};

export function useFeed(wanted = true): Feed {
  useEffect(() => {
    if (!wanted) return;
    callUsers++;
    settle();
    return () => {
      callUsers--;
      setTimeout(settle, 1000); // the next screen may want it too
    };
  }, [wanted]);
  return useSyncExternalStore(subscribe, () => feed);
}
