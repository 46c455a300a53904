import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRebase, editedFields, fieldChanges, isLater, text } from './edits.ts';

test('versions are compared as times', () => {
  const at = (updated_at: string) => ({ updated_at });
  assert.ok(isLater(at('2026-01-02T03:04:05.123Z'), at('2026-01-02T03:04:05.12Z')));
  assert.ok(!isLater(at('2026-01-02T03:04:05.12Z'), at('2026-01-02T03:04:05.123Z')));
  assert.ok(isLater(at('2026-01-02T03:04:05.000001Z'), at('2026-01-02T03:04:05Z')));
  assert.ok(isLater(at('2026-01-02T03:04:06Z'), at('2026-01-02T03:04:05.9Z')));
  assert.ok(!isLater(at('2026-01-02T03:04:05Z'), at('2026-01-02T03:04:05Z')));
  assert.ok(isLater(at('2026-01-02T03:04:05Z'), {}));
});

test('the order of members says nothing', () => {
  assert.equal(text({ a: 1, b: { c: 2, d: undefined } }), text({ b: { c: 2 }, a: 1 }));
  assert.notEqual(text([1, 2]), text([2, 1]));
});

test('what is typed stands while others change something else', () => {
  const base = { title: 'A', url: 'x', private: false };
  assert.ok(canRebase(base, { ...base, url: 'y' }, { title: 'B' }));
  assert.ok(!canRebase(base, { ...base, title: 'C' }, { title: 'B' }));
  assert.ok(canRebase(base, { ...base, title: 'C' }, { title: 'A' }), 'what was typed and taken back');
  assert.ok(canRebase(base, { ...base, title: 'C' }, {}));
  assert.deepEqual(editedFields(base, { title: 'A', url: 'y' }), ['url']);
});

test('both sides are told apart, field by field', () => {
  const base = { title: 'A', url: 'x', private: false };
  assert.deepEqual(fieldChanges(base, { title: 'C', url: 'x', private: true }, { title: 'B', url: 'y' }), [
    { field: 'title', yours: 'B', theirs: 'C', edited: true, changed: true },
    { field: 'url', yours: 'y', theirs: 'x', edited: true, changed: false },
    { field: 'private', yours: false, theirs: true, edited: false, changed: true },
  ]);
  assert.deepEqual(fieldChanges<Record<string, string>>({ a: '1' }, {}, { b: '2' }), [
    { field: 'a', yours: '1', theirs: undefined, edited: false, changed: true },
    { field: 'b', yours: '2', theirs: undefined, edited: true, changed: false },
  ]);
});
