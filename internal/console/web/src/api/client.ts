import { Failure } from './failure.ts';
import type { components } from './schema';

export type Schemas = components['schemas'];
export type Problem = Schemas['Problem'];
export type Server = Schemas['Server'];
export type ServerDetail = Schemas['ServerDetail'];
export type Probe = Schemas['Probe'];
export type APIPreview = Schemas['APIPreview'];
export type Tool = Schemas['Tool'];
export type Call = Schemas['Call'];
export type Agent = Schemas['Agent'];
export type Key = Schemas['Key'];
export type Me = Schemas['Me'];
export type ListedServer = Schemas['ListedServer'];
export type Page<T> = { items: T[]; next?: string; total?: number };

export { Failure };

type Listener = () => void;
const ended = new Set<Listener>();

// onEnded tells when an answer said that the session has ended.
export function onEnded(listener: Listener): () => void {
  ended.add(listener);
  return () => ended.delete(listener);
}

const base = '/api/v1';

export interface Sending {
  signal?: AbortSignal | undefined;
  match?: string | undefined; // the updated_at of what is changed, as it was read
  known?: string | undefined; // the ETag of an answer that is kept: without a change, the answer is 304
}

// ask sends one request. What changes something carries the header that no
// other site can set.
export async function ask(method: string, path: string, body?: unknown, { signal, match, known }: Sending = {}): Promise<Response> {
  const headers: Record<string, string> = { 'X-Junctor-Console': '1' };
  if (match) headers['If-Match'] = `"${match}"`;
  if (known) headers['If-None-Match'] = known;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let res: Response;
  try {
    res = await fetch(base + path, { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null });
  } catch (err) {
    if (signal?.aborted) throw err;
    throw new Failure(
      { code: 'unreachable', detail: 'This instance does not answer.', hint: 'Check that it is running. This page retries automatically.' },
      `${method} ${path}`,
    );
  }
  if (res.ok || (known && res.status === 304)) return res;
  throw await failure(res, `${method} ${path}`);
}

async function failure(res: Response, request: string): Promise<Failure> {
  if (res.status === 401) for (const listener of ended) listener();
  try {
    const problem = (await res.json()) as Problem;
    if (problem.code) return new Failure(problem, request, res.headers.get('X-Request-Id') ?? '');
  } catch {
    // no JSON: something in between has answered
  }
  return new Failure({ code: 'internal', status: res.status, detail: `The answer was ${res.status} ${res.statusText}.` }, request);
}

// Answers that may be asked for again, by their path: one that did not change is not sent
// twice.
const kept = new Map<string, { tag: string; answer: unknown }>();
const mostKept = 40;

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const before = kept.get(path);
  const res = await ask('GET', path, undefined, { signal, known: before?.tag });
  if (before && res.status === 304) return before.answer as T;
  const answer = (await res.json()) as T;
  // A strong tag is the version of an object, which is answered in full anyway.
  const tag = res.headers.get('ETag');
  kept.delete(path);
  if (tag?.startsWith('W/')) {
    kept.set(path, { tag, answer });
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) break;
      kept.delete(oldest);
    }
  }
  return answer;
}

// getAll reads all pages of a list, for places that need every item at once.
export async function getAll<T>(path: string, signal?: AbortSignal): Promise<Page<T>> {
  const page = (cursor = '') => get<Page<T>>(path + query({ limit: 1000, cursor }).replace('?', path.includes('?') ? '&' : '?'), signal);
  const all = await page();
  const items = [...all.items];
  for (let next = all.next; next; ) {
    const more = await page(next);
    items.push(...more.items);
    next = more.next;
  }
  return { items, total: items.length };
}

export async function send<T = void>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown, how?: Sending): Promise<T> {
  const request = ask(method, path, body, how);
  if (method === 'DELETE') deletions.add(request);
  const res = await request.finally(() => deletions.delete(request));
  return (res.status === 204 ? undefined : await res.json()) as T;
}

const deletions = new Set<Promise<unknown>>();

// afterDeletions waits until the deletions that this page has sent are answered, and until the
// page has left what it deleted. A notice of the change comes earlier.
export async function afterDeletions(): Promise<void> {
  while (deletions.size > 0) {
    await Promise.allSettled(deletions);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

// query makes the part of an address behind the question mark; what is empty
// is left out.
export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined && value !== '') q.set(name, String(value));
  const text = q.toString();
  return text ? `?${text}` : '';
}
