// A published agent through the official A2A client: node a2a.mjs BASE KEY
// BASE is the agent's base address. The same is done over JSON-RPC and HTTP+JSON
// of version 1.0, and over JSON-RPC of 0.3. Prints what was done.
import assert from 'node:assert/strict';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';

const [base, key] = process.argv.slice(2);
const fetchImpl = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${key}`);
  return fetch(url, { ...init, headers });
};
const message = (text, more = {}) => ({
  tenant: '', metadata: {}, configuration: undefined, ...more.request,
  message: {
    messageId: crypto.randomUUID(), role: 1, contextId: '', taskId: '', extensions: [], referenceTaskIds: [], metadata: {},
    parts: [{ content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: '' }], ...more.message,
  },
});
const texts = (task) => (task.artifacts ?? []).flatMap((a) => a.parts).map((p) => p.content?.value ?? '').join('');
const state = (task) => task.status.state;
// As the client numbers them.
const [COMPLETED, CANCELED] = [3, 5];

async function talk(name, options, old) {
  const card = await new DefaultAgentCardResolver({ fetchImpl: fetch }).resolve(base);
  if (old) card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion === '0.3');
  const client = await new ClientFactory(options).createFromAgentCard(card);
  assert.equal(client.protocolVersion?.startsWith('0.3'), Boolean(old), `${name} speaks ${client.protocolVersion}`);
  const done = await client.sendMessage(message('what are 2 and 40?'));
  assert.equal(texts(done), 'It is 42.', name);
  assert.equal(state(done), COMPLETED, `${name}: ${JSON.stringify(done.status)}`);
  const again = await client.getTask({ tenant: '', id: done.id, historyLength: undefined });
  assert.equal(texts(again), 'It is 42.', name);

  const seen = [];
  for await (const e of client.sendMessageStream(message('what are 5 and 6?', { message: { contextId: done.contextId } }))) seen.push(e.payload);
  assert.equal(seen[0].$case, 'task', name);
  assert.equal(seen[0].value.contextId, done.contextId, name);
  assert.ok(seen.some((e) => e.$case === 'artifactUpdate'), name);
  assert.equal(seen.at(-1).$case, 'statusUpdate', name);
  assert.equal(state(seen.at(-1).value), COMPLETED, name);

  // One that takes long is watched from two places, and stopped.
  const long = client.sendMessageStream(message('take your time'));
  const { value: first } = await long.next();
  const id = first.payload.value.id;
  const watching = client.resubscribeTask({ tenant: '', id });
  const { value: begun } = await watching.next();
  assert.equal(begun?.payload.$case, 'task', `${name}: who watches sees the task first`);
  assert.equal(begun.payload.value.id, id, name);
  const gone = await client.cancelTask({ tenant: '', id, metadata: {} });
  assert.equal(state(gone), CANCELED, name);
  const watched = [];
  for await (const e of watching) watched.push(e.payload);
  assert.equal(state(watched.at(-1).value), CANCELED, `${name}: and how it ended last`);
  for await (const _ of long);

  if (!old) {
    const list = await client.listTasks({ tenant: '', contextId: '', status: 0, pageSize: 2, pageToken: '', historyLength: undefined, statusTimestampAfter: undefined, includeArtifacts: false });
    assert.equal(list.tasks.length, 2, name);
    assert.ok(list.nextPageToken, name);
  }
  const config = { tenant: '', id: 'hook', taskId: done.id, url: 'https://example.com/hook', token: 'a token', authentication: undefined };
  const made = await client.createTaskPushNotificationConfig(config);
  assert.equal(made.url, config.url, name);
  assert.equal((await client.getTaskPushNotificationConfig({ tenant: '', id: 'hook', taskId: done.id })).url, config.url, name);
  await client.deleteTaskPushNotificationConfig({ tenant: '', id: 'hook', taskId: done.id });
  await assert.rejects(() => client.getTask({ tenant: '', id: 'none', historyLength: undefined }), name);
  console.log(`${name}: ${seen.length} events of a stream`);
}

const compat = { legacyCompat: { enabled: true } };
await talk('JSON-RPC 1.0', { transports: [new JsonRpcTransportFactory({ fetchImpl })] }, false);
await talk('HTTP+JSON 1.0', { transports: [new RestTransportFactory({ fetchImpl })] }, false);
await talk('JSON-RPC 0.3', { transports: [new JsonRpcTransportFactory({ fetchImpl, ...compat })] }, true);
