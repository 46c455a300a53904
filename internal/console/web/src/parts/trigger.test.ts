import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, draftOf, placed, placesIn, readValue, ready, templateFor, wrongIn } from './trigger.ts';

const whole = {
  name: 'low',
  title: 'Low',
  match: {
    source: 'github',
    type: '*.failed',
    tags: ['a', 'b'],
    min_value: 0,
    max_value: 40.5,
    where: [
      { field: 'data.state', op: '=', value: 'open' },
      { field: 'data.count', op: '>', value: 3 },
      { field: 'data.text', op: '=', value: '3' },
      { field: 'data.kind', op: 'in', value: ['x', 'y'] },
    ],
  },
  action: {
    agent: 'event',
    tool: 'tell',
    template: { a: '{{data.a}}' },
    attempts: 3,
    skip_after: 2,
    order_key: '{{data.account}}',
    include_file_content: true,
    file_attempts: 4,
    timeout_ms: 1500,
    batch: 20,
    batch_wait_ms: 5000,
    sign: true,
  },
};

test('a trigger comes out of its editor as it went in', () => {
  const body = JSON.parse(JSON.stringify(bodyOf(draftOf(whole)))) as unknown;
  assert.deepEqual(body, { title: whole.title, match: whole.match, action: whole.action });
});

test('a value is read as what it looks like', () => {
  assert.equal(readValue('open'), 'open');
  assert.equal(readValue('3'), 3);
  assert.equal(readValue('"3"'), '3');
  assert.deepEqual(readValue('["a"]'), ['a']);
  assert.equal(readValue(''), undefined);
});

test('what is wrong is told beside its field', () => {
  const d = draftOf({});
  assert.deepEqual(wrongIn(d), {});
  assert.ok(!ready(d));
  assert.ok(ready({ ...d, target: 'demo', tool: 'echo' }));
  assert.ok('name' in wrongIn({ ...d, name: 'No' }));
  assert.ok('template' in wrongIn({ ...d, template: '{' }));
  assert.ok('template' in wrongIn({ ...d, template: '[]' }));
  assert.ok('min' in wrongIn({ ...d, min: 'x' }));
});

test('a refusal finds the field that it is about', () => {
  const cases: [string, string][] = [
    [`"No" is not a trigger's name: use a lower-case letter`, 'name'],
    ['action: name one of server, agent and resolve: where the tool is', 'target'],
    ['action: there is no server "x"; junctor server ls lists them', 'target'],
    ['action: the server "demo" has no tool "x"; junctor tool ls', 'tool'],
    ['action: batch_wait_ms goes with a batch of 2 or more', 'wait'],
    ['action: batch is between 0 and 100', 'batch'],
    ['action: skip_after is between 0, for never, and 20', 'skip'],
    ['action: order_key has at most 200 bytes', 'order'],
    ['action: file_attempts goes with include_file_content', 'tries'],
    ['template at /text: {{x}} asks for the type "y"', 'template'],
    ['match: where data.x: it needs a value to compare with, in JSON', 'where data.x'],
    ['something else', 'other'],
  ];
  for (const [message, field] of cases) assert.deepEqual(Object.keys(placed(message)), [field], message);
});

test('what an event has can be put into a template', () => {
  assert.deepEqual(placesIn({ issue: { title: 'x', tags: ['a'] }, 'no way': 1 }).slice(5), ['data.issue.title', 'data.issue.tags']);
  assert.equal(placesIn({ a: 1, b: 2 }, 6).length, 6);
  assert.deepEqual(JSON.parse(templateFor({ properties: { text: { type: 'string' }, n: { type: 'integer' } }, required: ['text'] })), {
    text: '{{data.text}}',
    n: '{{data.n|integer?}}',
  });
});
