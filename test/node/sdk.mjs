// The first generation of the official TypeScript client.
// node sdk.mjs legacy http|sse URL KEY, or: node sdk.mjs legacy stdio COMMAND ARGS...
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answer, report, setting, tour, watch } from './tour.mjs';

const set = setting();
let asked = 0;
const client = new Client({ name: 'sdk-1', version: '1' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, () => {
  asked++;
  return answer;
});

function transport() {
  switch (set.transport) {
    case 'stdio':
      return new StdioClientTransport({ command: set.command, args: set.args, env: process.env });
    case 'sse':
      return new SSEClientTransport(set.url, { requestInit: { headers: set.headers } });
    default:
      return new StreamableHTTPClientTransport(set.url, { requestInit: { headers: set.headers } });
  }
}

// The library keeps the version to itself; its transport is told.
const wire = transport();
let version = '';
const tell = wire.setProtocolVersion?.bind(wire);
wire.setProtocolVersion = v => {
  version = v;
  tell?.(v);
};
await client.connect(wire);
await report(client, () =>
  tour(client, {
    protocol: () => version,
    asked: () => asked,
    progress: watch(wire),
    call: (params, options) => client.callTool(params, undefined, options),
  }),
);
