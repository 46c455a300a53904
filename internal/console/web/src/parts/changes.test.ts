import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionName, nameOf, pageOf, valueChanges, written } from './changes.ts';

test('a change is shown field by field', () => {
  const before = { name: 'a', tools: ['x'], limits: { burst: 1, per_day: 5 }, updated_at: '1', updated_by: 'user:1' };
  const after = { name: 'a', tools: ['x', 'y'], limits: { per_day: 6, burst: 1 }, title: 'A', updated_at: '2', updated_by: 'user:2' };
  assert.deepEqual(valueChanges(before, after), [
    { field: 'tools', before: ['x'], after: ['x', 'y'] },
    { field: 'limits.per_day', before: 5, after: 6 },
    { field: 'title', before: undefined, after: 'A' },
  ]);
});

test('objects that are created and deleted have no value at one side', () => {
  assert.deepEqual(valueChanges(undefined, { name: 'a', prompts: [], created_at: '1' }), [
    { field: 'name', before: undefined, after: 'a' },
  ]);
  assert.deepEqual(valueChanges({ name: 'a' }, undefined), [{ field: 'name', before: 'a', after: undefined }]);
  assert.deepEqual(valueChanges(undefined, undefined), []);
});

test('a list with one object is that object', () => {
  assert.deepEqual(valueChanges([{ id: '1', role: 'viewer' }], [{ id: '1', role: 'admin' }]), [
    { field: 'role', before: 'viewer', after: 'admin' },
  ]);
  assert.deepEqual(valueChanges([{ id: '1' }], [{ id: '1' }, { id: '2' }]).length, 2);
});

test('values, actions and objects have names for people', () => {
  assert.equal(written(['a', 'b']), 'a\nb');
  assert.equal(written(''), '""');
  assert.equal(written(false), 'false');
  assert.equal(actionName('patch-server'), 'Changed server');
  assert.equal(actionName('rotate-secret'), 'Rotated secret');
  assert.equal(pageOf('server', 'a/b'), '/servers/a%2Fb');
  assert.equal(pageOf('role', 'x'), undefined);
  assert.equal(nameOf([{ id: '1', name: 'ada' }]), 'ada');
  assert.equal(nameOf({ id: '1', title: '' }), undefined);
});
