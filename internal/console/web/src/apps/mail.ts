import { get, type Page, type Schemas, send } from '../api/client';
import type { RpcError } from './protocol';

// What Go has for the Views of this page. One request at a time waits for it,
// for all of them, while there are any.

export type Mail = Schemas['ViewMail'];

const listeners = new Map<string, (m: Mail) => void>();
let after = 0;
let fetching: AbortController | undefined;

export function onMail(view: string, hear: (m: Mail) => void): () => void {
  listeners.set(view, hear);
  if (!fetching) void fetchMail();
  return () => {
    listeners.delete(view);
    if (listeners.size === 0) fetching?.abort();
  };
}

export const answerMail = (view: string, ask: string, answer: { result?: unknown; error?: RpcError }) =>
  send('POST', `/views/${encodeURIComponent(view)}/answers/${encodeURIComponent(ask)}`, answer).catch(() => undefined);

async function fetchMail() {
  const mine = new AbortController();
  fetching = mine;
  while (!mine.signal.aborted) {
    try {
      const page = await get<Page<Mail>>(`/views/mail?after=${after}&wait=20`, mine.signal);
      for (const m of page.items) {
        after = Math.max(after, m.seq);
        listeners.get(m.view)?.(m);
      }
    } catch {
      // The View itself notices when its session or the gateway is gone.
      if (!mine.signal.aborted) await new Promise((done) => setTimeout(done, 3000));
    }
  }
  if (fetching === mine) fetching = undefined;
  if (!fetching && listeners.size > 0) void fetchMail();
}
