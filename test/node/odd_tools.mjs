// The official clients list tools that are odd, and call each of them.
// node odd_tools.mjs sdk1|legacy|modern URL KEY NAME...
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [mode, url, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const client =
  mode === 'sdk1'
    ? new Client({ name: 'sdk-1', version: '1' })
    : new Client2({ name: 'client-2', version: '1' }, { versionNegotiation: { mode: mode === 'modern' ? { pin: '2026-07-28' } : 'legacy' } });
const Transport = mode === 'sdk1' ? StreamableHTTPClientTransport : Transport2;
await client.connect(new Transport(new URL(url), { requestInit: { headers } }));
const seen = { tools: [], calls: {} };
const { tools } = await client.listTools();
seen.tools = tools.map((t) => t.name);
for (const { name } of tools) {
  try {
    const { structuredContent, content } = await client.callTool({ name, arguments: {} });
    seen.calls[name] = { structured: structuredContent, content };
  } catch (e) {
    seen.calls[name] = { error: String(e) };
  }
}
console.log(JSON.stringify(seen));
await client.close();
