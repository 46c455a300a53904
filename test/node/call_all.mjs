// The official client lists all tools and calls each that has no required argument.
// node call_all.mjs http URL KEY, or: node call_all.mjs stdio KEY COMMAND ARGS...
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [transport, ...rest] = process.argv.slice(2);
const wire =
  transport === 'http'
    ? new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } })
    : new StdioClientTransport({ command: rest[1], args: rest.slice(2), env: { ...process.env, ...(rest[0] && { JUNCTOR_KEY: rest[0] }) } });
const client = new Client({ name: 'sdk-1', version: '1' });
await client.connect(wire);
const answers = {};
for (const { name, inputSchema } of (await client.listTools()).tools) {
  if (inputSchema.required?.length) continue;
  try {
    const { content, isError } = await client.callTool({ name, arguments: {} });
    answers[name] = (isError ? 'error: ' : '') + content.map((c) => c.text).join('');
  } catch (e) {
    answers[name] = 'error: ' + e.message;
  }
}
console.log(JSON.stringify(answers));
await client.close();
