import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startersOf } from './starters.ts';

const tool = (name: string, title: string, read_only: boolean, has_view = false) => ({ name, title, read_only, has_view });

test('starters name what agents can do without changing anything', () => {
  const bank = {
    agent: 'bank',
    tools: [
      tool('bank__pay', 'Pay a bill', false),
      tool('bank__list', 'List transactions', true),
      tool('bank__map', 'Show a map', true, true),
      tool('bank__x', '', true),
    ],
  };
  assert.deepEqual(startersOf([bank]), ['What can you do?', 'Show a map', 'List transactions']);
  assert.deepEqual(startersOf([bank, { agent: 'broken', fault: 'no model', tools: [tool('a', 'Look', true)] }]), [
    '@bank What can you do?',
    '@bank Show a map',
    '@bank List transactions',
  ]);
  assert.deepEqual(startersOf([]), []);
});

test('there are at most four, and none is long', () => {
  const tools = Array.from({ length: 9 }, (_, i) => tool(`t${i}`, i === 0 ? 'x'.repeat(61) : `Read ${i}`, true));
  const all = startersOf([{ agent: 'a', tools }]);
  assert.equal(all.length, 4);
  assert.ok(all.every((text) => text.length <= 60));
});
