// An agent on the official A2A server: node a2a_server.mjs PORT
// It is at /new (JSON-RPC of 1.0), /rest (HTTP+JSON of 1.0) and /old (JSON-RPC
// of 0.3), and says what it heard, in which conversation.
import express from 'express';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const port = Number(process.argv[2]);
const at = `http://127.0.0.1:${port}`;
const [WORKING, COMPLETED, INPUT] = [2, 3, 6]; // states as the library numbers them
const part = (text) => ({ content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: '' });

class Clerk {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const heard = userMessage.parts.map((p) => p.content?.value ?? '').join('|');
    const status = (state, text) => ({
      state, timestamp: new Date().toISOString(),
      message: text && { messageId: crypto.randomUUID(), role: 2, taskId, contextId, parts: [part(text)], metadata: {}, extensions: [], referenceTaskIds: [] },
    });
    bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(WORKING), artifacts: [], history: [userMessage], metadata: {} }));
    if (heard === 'book') {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(INPUT, 'For which day?'), metadata: {} }));
    } else {
      for (const [i, text] of [`Heard ${heard}`, ` in ${contextId}`].entries()) {
        const artifact = { artifactId: 'a', name: '', description: '', parts: [part(text)], metadata: {}, extensions: [] };
        bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: i > 0, lastChunk: i > 0, metadata: {} }));
      }
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(COMPLETED), metadata: {} }));
    }
    bus.finished();
  }
  async cancelTask() {}
}

const app = express();
const agent = (path, binding, protocolVersion) => {
  const card = {
    name: 'Clerk', description: 'Says what it heard', version: '1', documentationUrl: '', iconUrl: '', provider: undefined,
    supportedInterfaces: [{ url: at + path, protocolBinding: binding, protocolVersion, tenant: '' }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [], securitySchemes: {}, securityRequirements: [], signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Clerk());
  const old = protocolVersion === '0.3';
  if (old) {
    // As a server of that time has it: it does not say which wire its address speaks.
    const { supportedInterfaces, securityRequirements, signatures, ...rest } = card;
    app.get(`${path}/.well-known/agent-card.json`, (_, res) => res.json({ ...rest, url: at + path, protocolVersion: '0.3.0', capabilities: { streaming: true } }));
  } else {
    app.use(`${path}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider: requestHandler }));
  }
  const serve = binding === 'JSONRPC' ? jsonRpcHandler : restHandler;
  app.use(path, serve({ requestHandler, userBuilder: UserBuilder.noAuthentication, ...(old ? { legacyCompat: { enabled: true } } : {}) }));
};
agent('/new', 'JSONRPC', '1.0');
agent('/rest', 'HTTP+JSON', '1.0');
agent('/old', 'JSONRPC', '0.3');
app.listen(port, '127.0.0.1');
