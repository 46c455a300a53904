import assert from 'node:assert/strict';
import test from 'node:test';
import { forgetDeletion, isDeleted, isOf, noteDeletion, pollEvery, pollEveryUnlessAdmin, setAdmin, setStreaming } from './live.ts';

test('a list is polled slowly while the stream names changes', () => {
  const interval = pollEvery(5_000);
  assert.equal(interval(), 5_000);
  setStreaming(true);
  assert.ok(interval() >= 30_000);
  setStreaming(false);
  assert.equal(interval(), 5_000);
});

test('what the stream names to admins only is polled by others', () => {
  const interval = pollEveryUnlessAdmin(3_000);
  setStreaming(true);
  assert.equal(interval(), 3_000);
  setAdmin(true);
  assert.ok(interval() >= 30_000);
  setStreaming(false);
  assert.equal(interval(), 3_000);
});

test('only queries of the lists that changed are read again', () => {
  assert.ok(isOf('tool', ['tools']));
  assert.ok(isOf('agents', ['agents']));
  assert.ok(!isOf('keys', ['agents', 'tools']));
  assert.ok(isOf('keys', ['*']));
});

test('what is being deleted is not read again', () => {
  const key = ['users', 'u1'];
  noteDeletion(key);
  assert.ok(isDeleted(['users', 'u1']) && isDeleted(['users', 'u1', 'sessions']));
  assert.ok(!isDeleted(['users']) && !isDeleted(['users', 'u2']));
  forgetDeletion(key);
  assert.ok(!isDeleted(['users', 'u1']));
});
