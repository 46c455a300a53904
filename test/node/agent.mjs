// An agent on the official TypeScript SDK that receives feedback and acknowledges it.
// node agent.mjs RECORD stdio, or: node agent.mjs RECORD http PORT TOKEN. What it was
// told it adds to the file RECORD, a line of JSON each.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [record, mode, port, token] = process.argv.slice(2);
const name = 'agent.receiveFeedback';

function agent() {
  const server = new Server({ name: 'test-agent', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{ name, description: 'Test feedback receiver', inputSchema: { type: 'object', properties: { score: { type: 'integer' } } } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    if (params.name !== name) throw new Error(`there is no tool ${params.name}`);
    appendFileSync(record, `${JSON.stringify({ arguments: params.arguments, meta: params._meta })}\n`);
    return { content: [{ type: 'text', text: JSON.stringify({ acknowledged: true, score_received: params.arguments.score }) }] };
  });
  return server;
}

if (mode === 'stdio') {
  await agent().connect(new StdioServerTransport());
} else {
  createServer(async (request, response) => {
    if (request.headers['x-agent-token'] !== token) {
      response.writeHead(401).end();
      return;
    }
    const server = agent();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  }).listen(Number(port), '127.0.0.1');
}
