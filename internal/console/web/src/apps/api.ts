import { ask, get, type Page, type Schemas, send } from '../api/client';
import type { Params, RpcError } from './protocol';

export type View = Schemas['View'];
export type App = Schemas['App'];
export type LogItem = Schemas['ViewEntry'];

export interface Opening {
  tool: string; // as shown, or the server's own name where server is given
  server?: string;
  agent?: string;
  call?: string;
  isolation?: 'opaque';
  fresh?: boolean; // its page is read from the server, whatever is kept of it
}

const at = (id: string) => `/views/${encodeURIComponent(id)}`;

export const openView = (o: Opening, signal: AbortSignal) => send<View>('POST', '/views', o, { signal });
export const lookAt = (id: string) => get<View>(`${at(id)}?check=true`); // its page is read again
export const closeView = (id: string) => ask('DELETE', at(id)).catch(() => undefined);
export const rpc = (id: string, method: string, params: Params, signal: AbortSignal) =>
  send<{ result?: unknown; error?: RpcError }>('POST', `${at(id)}/rpc`, { method, params }, { signal });
export const readLog = (id: string, after: number) => get<Page<LogItem>>(`${at(id)}/log?after=${after}`);
export const writeLog = (id: string, entries: { kind: string; method?: string; detail?: unknown }[]) =>
  send('POST', `${at(id)}/log`, { entries }).catch(() => undefined);
