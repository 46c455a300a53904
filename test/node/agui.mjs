// A room through the official AG-UI client: node agui.mjs BASE KEY ROOM
// Every event of every run is held against the official schemas; the client itself
// refuses events in an order that cannot be. Prints what each run was.
import assert from 'node:assert/strict';
import { EventSchemas } from '@ag-ui/core/schemas';
import { HttpAgent } from '@ag-ui/client';

const [base, key, room] = process.argv.slice(2);
const url = `${base}/api/v1/rooms/${room}/runs`;
const agent = new HttpAgent({ url, threadId: room, headers: { Authorization: `Bearer ${key}` } });
let runs = 0;
let events = 0;

// run says something, or resumes, and gives the events as they came.
async function run(name, text, parameters = {}, during) {
  if (text) agent.addMessage({ id: `m-${name}`, role: 'user', content: text });
  const heard = [];
  await agent.runAgent(
    { runId: `run-${name}`, ...parameters },
    {
      onEvent: async ({ event }) => {
        EventSchemas.parse(event);
        heard.push(event);
        await during?.(event);
      },
    },
  );
  runs++;
  events += heard.length;
  const last = heard.at(-1);
  assert.equal(heard[0]?.type, 'RUN_STARTED', name);
  assert.equal(last?.type, 'RUN_FINISHED', `${name}: ${JSON.stringify(last)}`);
  console.log(`${name}: ${last.outcome?.type ?? 'success'}, ${heard.length} events`);
  return { heard, outcome: last.outcome ?? { type: 'success' } };
}
const has = (heard, type) => assert.ok(heard.some((e) => e.type === type), type);

const one = await run('one', '@adder what are 2 and 40?');
for (const type of ['SUBAGENT_STARTED', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', 'TEXT_MESSAGE_CONTENT', 'SUBAGENT_FINISHED', 'CUSTOM']) has(one.heard, type);
assert.equal(one.outcome.type, 'success');
assert.match(JSON.stringify(agent.messages), /It is 42\./);

const both = await run('both', '@all say hello, and what are 1 and 2?');
assert.equal(both.heard.filter((e) => e.type === 'SUBAGENT_STARTED').length, 3);

for (const [name, status, payload, want] of [
  ['denied', 'cancelled', undefined, /^It is not kept/],
  ['allowed', 'resolved', { allow: true }, /^It is kept/],
]) {
  const asks = await run(`${name}-asks`, '@keeper keep this');
  assert.equal(asks.outcome.type, 'interrupt');
  const [interrupt] = asks.outcome.interrupts;
  assert.ok(interrupt.toolCallId);
  const resume = [{ interruptId: interrupt.id, status, payload }];
  const then = await run(name, undefined, { resume });
  assert.equal(then.outcome.type, 'success');
  const said = then.heard.filter((e) => e.type === 'TEXT_MESSAGE_CONTENT').map((e) => e.delta).join('');
  assert.match(said, want);
}

const stopped = await run('stopped', '@adder take your time', {}, async (event) => {
  if (event.type === 'TOOL_CALL_END') {
    const r = await fetch(`${url}/run-stopped/stop`, { method: 'POST', headers: { Authorization: `Bearer ${key}` } });
    assert.equal(r.status, 204);
  }
});
assert.equal(stopped.outcome.type, 'cancelled');
console.log(JSON.stringify({ runs, events }));
