import type { Call } from '../api/client';

// What calls have in common wherever they are listed.

// statusNames are the statuses that are not named as the API has them.
const statusNames: Record<string, string> = { lapsed: 'expired' };
export const statusName = (status: string): string => statusNames[status] ?? status;

export const statuses = ['running', 'success', 'error', 'timeout', 'canceled', 'denied', 'limited', 'invalid', 'lapsed'];
// ended are those of calls that are over, and so in the history.
export const ended = statuses.filter((s) => s !== 'running');

export const entryPoints = ['mcp', 'sse', 'stdio', 'plain', 'call', 'admin', 'view', 'turn', 'delivery'];
export const entryPointNames: Record<string, string> = {
  mcp: 'MCP',
  sse: 'HTTP+SSE',
  stdio: 'stdio',
  plain: 'JSON-RPC',
  call: 'bridge',
  admin: 'API',
  view: 'App view',
  turn: 'agent turn',
  delivery: 'delivery',
};

export const shown = (c: Pick<Call, 'server' | 'name' | 'kind'>) => (c.server && c.kind !== 'resource' ? `${c.server}__${c.name}` : c.name);
export const who = (c: Pick<Call, 'agent' | 'issuer' | 'subject'>) => c.agent || (c.issuer === 'local' ? 'operator' : c.subject);
