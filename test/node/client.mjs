// The second generation of the official TypeScript client, in each of its modes:
// node client.mjs legacy|auto|modern http URL KEY, or with stdio COMMAND ARGS...
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answer, report, setting, tour, watch } from './tour.mjs';

const set = setting();
let asked = 0;
const client = new Client(
  { name: 'client-2', version: '1' },
  {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: set.mode === 'modern' ? { pin: '2026-07-28' } : set.mode },
  },
);
client.setRequestHandler('elicitation/create', () => {
  asked++;
  return answer;
});
const wire =
  set.transport === 'stdio'
    ? new StdioClientTransport({ command: set.command, args: set.args, env: process.env })
    : new StreamableHTTPClientTransport(set.url, { requestInit: { headers: set.headers } });
await client.connect(wire);
await report(client, () =>
  tour(client, {
    protocol: () => client.getNegotiatedProtocolVersion(),
    asked: () => asked,
    progress: watch(wire),
    call: (params, options) => client.callTool(params, options),
  }),
);
