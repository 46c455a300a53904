import { suggestID } from './command.ts';

export interface Found {
  id: string;
  name: string;
  url?: string;
  transport?: 'http' | 'sse' | 'stdio';
  command?: string[];
  env?: Record<string, string>;
  headers?: Record<string, string>;
  cwd?: string;
  problem?: string;
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
const texts = (v: unknown): Record<string, string> | undefined =>
  isObject(v) ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, String(x)])) : undefined;

// parseMcpJson finds the servers in the configuration of an MCP client: the
// member is mcpServers, servers or context_servers, or the whole is the map.
export function parseMcpJson(text: string): { found: Found[]; problem?: string } {
  let doc: unknown;
  try {
    doc = JSON.parse(text);
  } catch (err) {
    return { found: [], problem: `Invalid JSON: ${(err as Error).message}` };
  }
  if (!isObject(doc)) return { found: [], problem: 'Enter a JSON object with mcpServers.' };
  const mcp = isObject(doc.mcp) ? doc.mcp : {};
  const map = [doc.mcpServers, doc.servers, mcp.servers, doc.context_servers, doc].find(
    (m) => isObject(m) && Object.values(m).some((s) => isObject(s) && ('command' in s || 'url' in s || 'serverUrl' in s || 'httpUrl' in s)),
  );
  if (!isObject(map)) return { found: [], problem: 'It has no servers. Enter a JSON object with mcpServers.' };
  const found = Object.entries(map).map(([name, raw]): Found => {
    const id = suggestID([name]) || 'server';
    if (!isObject(raw)) return { id, name, problem: 'is not an object' };
    const url = raw.httpUrl ?? raw.url ?? raw.serverUrl;
    if (typeof url === 'string')
      return { id, name, url, transport: raw.type === 'sse' || raw.transport === 'sse' ? 'sse' : 'http', headers: texts(raw.headers) };
    if (typeof raw.command === 'string') {
      const args = Array.isArray(raw.args) ? raw.args.map(String) : [];
      return {
        id,
        name,
        transport: 'stdio',
        command: [raw.command, ...args],
        env: texts(raw.env),
        cwd: typeof raw.cwd === 'string' ? raw.cwd : undefined,
      };
    }
    return { id, name, problem: 'has neither a url nor a command' };
  });
  return { found };
}
