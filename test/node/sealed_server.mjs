// An MCP server on standard streams, with one tool that says which secret the server got:
// node sealed_server.mjs [--api-key SECRET]. SECRET in the environment is another way.
import { createHash } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const at = process.argv.indexOf('--api-key');
const secret = at > 0 ? process.argv[at + 1] : process.env.SECRET ?? '';
const server = new McpServer({ name: 'sealed', version: '1' });
// A digest: the gateway would take the secret itself out of the answer.
const digest = createHash('sha256').update(secret).digest('hex').slice(0, 16);
server.registerTool('secret', { description: 'Says which secret the server got.' }, () => ({ content: [{ type: 'text', text: digest }] }));
await server.connect(new StdioServerTransport());
