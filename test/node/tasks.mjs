// Tasks of 2025-11-25 by the first generation of the official TypeScript client.
// node tasks.mjs ENDPOINT KEY TOOL ARGUMENTS: runs the tool as a task, answers what it
// asks, and prints what happened as one JSON object. ENDPOINT is a URL, or the command
// of an endpoint over stdio as a JSON list.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema, TaskStatusNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const [endpoint, key, tool, args] = process.argv.slice(2);
const client = new Client({ name: 'tasks', version: '1' }, { capabilities: { elicitation: {} } });
const out = { asked: [], statuses: [], told: [] };
client.setRequestHandler(ElicitRequestSchema, request => {
  out.asked.push(request.params.message);
  out.related = request.params._meta?.['io.modelcontextprotocol/related-task']?.taskId;
  return { action: 'accept', content: { interpretation: 'snake' } };
});
let heard = () => {};
client.setNotificationHandler(TaskStatusNotificationSchema, note => {
  out.told.push(`${note.params.taskId} ${note.params.status}`);
  heard();
});
function transport() {
  if (endpoint.startsWith('[')) {
    const [command, ...rest] = JSON.parse(endpoint);
    return new StdioClientTransport({ command, args: rest, env: process.env });
  }
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  return endpoint.endsWith('/sse') ? new SSEClientTransport(new URL(endpoint), { requestInit }) : new StreamableHTTPClientTransport(new URL(endpoint), { requestInit });
}
await client.connect(transport());
out.capabilities = client.getServerCapabilities();
const { tools } = await client.listTools();
out.support = tools.find(t => t.name === tool)?.execution?.taskSupport;
const tasks = client.experimental.tasks;
for await (const message of tasks.callToolStream({ name: tool, arguments: JSON.parse(args) }, CallToolResultSchema, { task: { ttl: 60000 } })) {
  if (message.type === 'taskCreated') out.id = message.task.taskId;
  if (message.type === 'taskStatus') out.statuses.push(message.task.status);
  if (message.type === 'result') out.result = message.result;
  if (message.type === 'error') out.error = message.error.message;
}
if (out.id) {
  // It is told that it has ended, sooner or later.
  for (const end = Date.now() + 10000; !out.told.includes(`${out.id} completed`) && Date.now() < end; ) {
    await new Promise(resolve => { heard = resolve; setTimeout(resolve, 100); });
  }
  out.got = await tasks.getTask(out.id);
  out.listed = (await tasks.listTasks()).tasks.map(t => `${t.taskId} ${t.status}`);
  out.cancel = await tasks.cancelTask(out.id).then(() => 'cancelled', e => e.code);
}
// One that is cancelled while it works.
const endless = JSON.parse(args);
if (endless.seconds) endless.seconds = 600; // it must still work when it is cancelled, on a busy machine too
const stream = tasks.callToolStream({ name: tool, arguments: endless }, CallToolResultSchema, { task: {} });
for await (const message of stream) {
  if (message.type === 'taskCreated') {
    out.cancelled = (await tasks.cancelTask(message.task.taskId)).status;
    break;
  }
}
await client.close();
console.log(JSON.stringify(out));
