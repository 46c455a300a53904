import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanOverrides, isToolName, overridesBeside } from './overrideFields.ts';

test('every setting of a tool is kept, and what changes nothing is left out', () => {
  const all = {
    b: { hide: false, name: '', call_timeout: ' 5m ', call_timeout_max: '1h' },
    a: { hide: true, read_only: false, tags: [] },
    c: { name: ' ' },
  };
  assert.deepEqual(cleanOverrides(all), { a: { hide: true, read_only: false }, b: { call_timeout: '5m', call_timeout_max: '1h' } });
  assert.deepEqual(Object.keys(cleanOverrides(all)), ['a', 'b']);
});

test('settings that a row has no place for are those of the API', () => {
  assert.deepEqual(overridesBeside('hide', 'name', 'description', 'read_only'), [
    'call_timeout',
    'call_timeout_max',
    'destructive',
    'idempotent',
    'open_world',
    'tags',
  ]);
});

test('a tool is given a name that clients accept', () => {
  for (const name of ['', undefined, 'find_all-2', 'x'.repeat(64)]) assert.ok(isToolName(name));
  for (const name of ['find all', 'find!', 'x'.repeat(65), 'ä', 'a.b']) assert.ok(!isToolName(name));
});
