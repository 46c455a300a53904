import { useEffect, useSyncExternalStore } from 'react';
import { type Call, get, onEnded, type Page } from './client';

// The newest calls, kept up to date while somebody looks. They are one list for
// the whole page, so that a screen that comes back finds it as it was.

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
let users = 0;
let source: EventSource | undefined;

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

function open() {
  source = new EventSource('/api/v1/calls/tail');
  source.onopen = () => {
    set({ live: true });
    void load(); // and with it what was missed in between
  };
  source.onerror = () => {
    set({ live: false });
    if (source?.readyState === EventSource.CLOSED) {
      close();
      if (users > 0) {
        void load(); // says why
        setTimeout(() => users > 0 && !source && seen() && open(), 3000);
      }
    }
  };
  source.addEventListener('calls', (e) => {
    const part = JSON.parse((e as MessageEvent<string>).data) as { calls: Call[]; missed?: number };
    if (part.calls.length > 0 || part.missed) set({ calls: merge(feed.calls, part.calls), missed: feed.missed + (part.missed ?? 0) });
  });
}

function close() {
  source?.close();
  source = undefined;
}
onEnded(close);

// A page that nobody sees holds no stream: a browser has six connections for a
// host, and what was missed is loaded when the page is looked at again.
const seen = () => document.visibilityState === 'visible';
if (typeof document !== 'undefined')
  document.addEventListener('visibilitychange', () => {
    if (seen()) {
      if (users > 0 && !source) open();
      return;
    }
    close();
    set({ live: false });
  });

const subscribe = (l: () => void) => {
  listeners.add(l);
  return () => listeners.delete(l);
};

export function useFeed(wanted = true): Feed {
  useEffect(() => {
    if (!wanted) return;
    users++;
    if (!source && seen()) open();
    return () => {
      users--;
      // The next screen may want it too.
      setTimeout(() => users === 0 && close(), 1000);
    };
  }, [wanted]);
  return useSyncExternalStore(subscribe, () => feed);
}
