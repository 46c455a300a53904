import { get, type Page, type Schemas, send } from '../api/client';
import type { RpcError } from './protocol';

// What Go has for the Views of this browser. One request waits for it, of one page
// for all of them, while there are any: a browser has six connections for a host,
// and pages that each held one would keep each other from everything else.

export type Mail = Schemas['ViewMail'];

const listeners = new Map<string, (m: Mail) => void>();
const pages = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('junctor-mail');
const early: Mail[] = []; // of Views that nobody listens for yet
let after = 0;
let waiting: AbortController | undefined;

if (pages) pages.onmessage = (e: MessageEvent<Mail>) => hear(e.data);

function hear(m: Mail) {
  if (m.seq <= after) return;
  after = m.seq;
  const listen = listeners.get(m.view);
  if (listen) return listen(m);
  early.push(m);
  if (early.length > 100) early.shift(); // most are of Views in other pages
}

export function onMail(view: string, listen: (m: Mail) => void): () => void {
  listeners.set(view, listen);
  for (const m of early) if (m.view === view) listen(m);
  if (!waiting) void wait();
  else void fetchMail(0).catch(() => undefined); // what came before anybody listened
  return () => {
    listeners.delete(view);
    if (listeners.size === 0) waiting?.abort();
  };
}

export const answerMail = (view: string, ask: string, answer: { result?: unknown; error?: RpcError }) =>
  send('POST', `/views/${encodeURIComponent(view)}/answers/${encodeURIComponent(ask)}`, answer).catch(() => undefined);

// fetchMail has all pages hear what there is, or what comes within some seconds.
async function fetchMail(seconds: number, signal?: AbortSignal) {
  const page = await get<Page<Mail>>(`/views/mail?after=${after}&wait=${seconds}`, signal);
  for (const m of page.items) {
    hear(m);
    pages?.postMessage(m);
  }
}

// wait fetches mail until no View is left here. Pages take turns: the next one
// begins where this one ends. Where the address is none that a browser trusts, it
// has no locks, and each page waits for itself.
async function wait() {
  const mine = new AbortController();
  waiting = mine;
  await fetchMail(0, mine.signal).catch(() => undefined);
  const loop = async () => {
    while (!mine.signal.aborted) {
      try {
        await fetchMail(20, mine.signal);
      } catch {
        // The View itself notices when its session or the gateway is gone.
        if (!mine.signal.aborted) await new Promise((done) => setTimeout(done, 3000));
      }
    }
  };
  await (navigator.locks ? navigator.locks.request('junctor-mail', { signal: mine.signal }, loop).catch(() => undefined) : loop());
  if (waiting === mine) waiting = undefined;
  if (!waiting && listeners.size > 0) void wait();
}
