import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bridge, type Line } from './bridge.ts';
import { MessageLog } from './messageLog.ts';
import { type Message, type Params, Refusal } from './protocol.ts';

const hello = { appInfo: { name: 'a', version: '1' }, appCapabilities: { tools: {} }, protocolVersion: '2026-01-26' };

// pair is a bridge, and a View that only takes down what it hears.
function pair(answer: (method: string, params: Params, signal: AbortSignal) => Promise<unknown> = async () => ({})) {
  const heard: Message[] = [];
  const lines: Line[] = [];
  const notes: string[] = [];
  const bridge = new Bridge((m) => heard.push(m), {
    info: { name: 'Junctor', version: '1' },
    capabilities: () => ({ logging: {} }),
    context: () => ({ theme: 'dark' }),
    answer,
    hear: (m) => notes.push(m),
    changed: () => {},
    said: (l) => lines.push(l),
  });
  const say = (m: object) => bridge.receive({ jsonrpc: '2.0', ...m });
  const ready = () => {
    say({ id: 'hello', method: 'ui/initialize', params: hello });
    say({ method: 'ui/notifications/initialized' });
  };
  const methods = () => heard.filter((m) => m.method).map((m) => m.method?.replace('ui/notifications/', ''));
  return { bridge, heard, lines, notes, say, ready, methods };
}

const turn = () => new Promise((done) => setImmediate(done));

test('nothing is told before the View is ready', () => {
  const { bridge, heard, say, methods } = pair();
  bridge.partial({ a: 1 });
  bridge.input({ a: 1, b: 2 });
  bridge.context({ theme: 'light' });
  bridge.result({ content: [] });
  assert.equal(heard.length, 0);
  say({ id: 1, method: 'ui/initialize', params: hello });
  assert.deepEqual(heard[0]?.result, {
    protocolVersion: '2026-01-26',
    hostInfo: { name: 'Junctor', version: '1' },
    hostCapabilities: { logging: {} },
    hostContext: { theme: 'dark' },
  });
  assert.deepEqual(methods(), []);
  say({ method: 'ui/notifications/initialized' });
  assert.deepEqual(methods(), ['tool-input', 'tool-result']);
});

test('input comes once and before the result, parts only before it', () => {
  const { bridge, ready, methods } = pair();
  ready();
  bridge.partial({ a: 1 });
  bridge.partial({ a: 12 });
  bridge.input({ a: 12 });
  bridge.partial({ a: 123 });
  bridge.input({ a: 9 });
  bridge.result({ content: [] });
  bridge.result({ content: [] });
  bridge.cancelled('late');
  assert.deepEqual(methods(), ['tool-input-partial', 'tool-input-partial', 'tool-input', 'tool-result']);
});

test('after a cancellation nothing more is told', () => {
  const { bridge, ready, methods, heard } = pair();
  ready();
  bridge.partial({});
  bridge.cancelled('You cancelled it.');
  bridge.input({});
  bridge.result({ content: [] });
  bridge.cancelled();
  assert.deepEqual(methods(), ['tool-input-partial', 'tool-cancelled']);
  assert.deepEqual(heard.at(-1)?.params, { reason: 'You cancelled it.' });
});

test('a View that begins anew is told everything again', () => {
  const { bridge, ready, methods } = pair();
  ready();
  bridge.input({ a: 1 });
  bridge.result({ content: [] });
  ready();
  assert.deepEqual(methods(), ['tool-input', 'tool-result', 'tool-input', 'tool-result']);
});

// Whatever is told in whichever order, what is heard keeps the rules.
test('the order holds for every sequence', () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  for (let round = 0; round < 500; round++) {
    const { bridge, ready, methods } = pair();
    const doing = [
      () => bridge.partial({}),
      () => bridge.input({}),
      () => bridge.result({}),
      () => bridge.cancelled(),
      () => bridge.phase === 'waiting' && ready(),
    ];
    for (let i = 0; i < 12; i++) doing[random(doing.length)]?.();
    const all = methods();
    const at = (name: string) => all.indexOf(`tool-${name}`);
    const times = (name: string) => all.filter((m) => m === `tool-${name}`).length;
    const progress = all.join(' ');
    assert.ok(times('input') <= 1 && times('result') + times('cancelled') <= 1, progress);
    assert.ok(times('result') === 0 || (at('input') >= 0 && at('input') < at('result')), progress);
    assert.ok(times('input') === 0 || all.lastIndexOf('tool-input-partial') < at('input'), progress);
    for (const end of ['result', 'cancelled']) assert.ok(at(end) < 0 || at(end) === all.length - 1, progress);
  }
});

test('requests before the greeting are refused', async () => {
  const { heard, say } = pair(async () => assert.fail('it was worked on'));
  say({ id: 1, method: 'tools/call', params: { name: 'x' } });
  await turn();
  assert.equal(heard[0]?.error?.code, -32600);
});

test('a greeting that lacks something is refused', async () => {
  const { bridge, heard, say } = pair();
  say({ id: 1, method: 'ui/initialize', params: { appInfo: { name: 'a' } } });
  await turn();
  assert.equal(heard[0]?.error?.code, -32602);
  assert.equal(bridge.phase, 'waiting');
});

test('what is no message is refused and noted', () => {
  const { say, bridge, lines, ready, heard } = pair();
  ready();
  const before = heard.length;
  for (const junk of [null, 1, 'x', [], {}, { jsonrpc: '1.0', method: 'x' }, { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: {}, result: 1 }])
    bridge.receive(junk);
  say({ id: 99, result: {} });
  say({ method: 'x'.repeat(300) });
  assert.equal(lines.filter((l) => l.kind === 'refused').length, 10);
  assert.equal(heard.length, before);
});

test('errors of the host reach the View as they are', async () => {
  const { heard, say, ready } = pair(async (method) => {
    if (method === 'a') throw new Refusal(-32602, 'unknown tool x', { a: 1 });
    throw new Error('It broke.');
  });
  ready();
  say({ id: 1, method: 'a' });
  say({ id: 2, method: 'b' });
  await turn();
  assert.deepEqual(heard.find((m) => m.id === 1)?.error, { code: -32602, message: 'unknown tool x', data: { a: 1 } });
  assert.deepEqual(heard.find((m) => m.id === 2)?.error, { code: -32000, message: 'It broke.' });
});

test('a View has so many requests at a time and no more', async () => {
  const { heard, say, ready } = pair(() => new Promise(() => {}));
  ready();
  for (let i = 0; i < 40; i++) say({ id: i, method: 'tools/call' });
  await turn();
  assert.equal(heard.filter((m) => m.error?.code === -32000).length, 8);
});

test('a View may take a request back', async () => {
  let signal: AbortSignal | undefined;
  const { heard, say, ready } = pair((_m, _p, s) => {
    signal = s;
    return new Promise((_, fail) => s.addEventListener('abort', () => fail(new Error('aborted'))));
  });
  ready();
  const before = heard.length;
  say({ id: 5, method: 'tools/call' });
  say({ method: 'notifications/cancelled', params: { requestId: 5 } });
  await turn();
  assert.equal(signal?.aborted, true);
  assert.equal(heard.length, before);
});

test('the farewell is a request, and nothing follows it', async () => {
  const { bridge, heard, say, ready, notes } = pair();
  ready();
  const closed = bridge.close(60_000);
  const farewell = heard.at(-1);
  assert.equal(farewell?.method, 'ui/resource-teardown');
  say({ id: 7, method: 'tools/call' });
  say({ method: 'ui/notifications/size-changed', params: {} });
  say({ id: farewell?.id, result: {} });
  await closed;
  assert.equal(bridge.phase, 'closed');
  assert.equal(heard.at(-1), farewell);
  assert.deepEqual(notes, []);
  bridge.result({});
  await assert.rejects(bridge.ask('ping', {}, 1000));
});

test('a View that does not answer is not waited for', async () => {
  const { bridge, ready } = pair();
  ready();
  await bridge.close(5);
  assert.equal(bridge.phase, 'closed');
  await assert.rejects(bridge.ask('tools/list', {}, 5), /not running/);
});

test('what the View owes is answered by its id, or in time', async () => {
  const { bridge, heard, say, ready } = pair();
  ready();
  const list = bridge.ask('tools/list', {}, 60_000);
  say({ id: heard.at(-1)?.id, result: { tools: [] } });
  assert.deepEqual(await list, { tools: [] });
  await assert.rejects(bridge.ask('tools/list', {}, 5), /has not answered/);
});

test('who talks much covers nothing that was stopped', () => {
  const j = new MessageLog();
  j.add({ from: 'junctor', kind: 'refused', method: '', body: 'stopped' });
  for (let i = 0; i < 5000; i++) j.add({ from: 'view', kind: 'note', method: 'notifications/message', body: { i } });
  j.add({ from: 'view', kind: 'note', method: 'x', body: 'y'.repeat(100_000) });
  assert.equal(j.entries[0]?.body, 'stopped');
  assert.ok(j.entries.length <= 401 && j.dropped > 4000);
  assert.ok(j.entries.every((e) => String(e.body).length < 21_000));
  for (let i = 0; i < 5000; i++) j.add({ from: 'junctor', kind: 'refused', method: '', body: i });
  assert.ok(j.entries.filter((e) => e.kind === 'refused').length <= 400);
});
