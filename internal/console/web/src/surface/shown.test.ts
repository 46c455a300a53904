import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { State } from '../apps/state.ts';
import { isOver, reasonOf, showsApp } from './shown.ts';

const states: State[] = ['opening', 'loading', 'starting', 'ready', 'failed', 'left', 'silent', 'closed'];
const seen = (asked: boolean) => states.filter((state) => showsApp({ state }, asked));

test('an App is seen once it has begun, and what stands for it again when it fails', () => {
  assert.deepEqual(seen(false), ['ready']);
  assert.deepEqual(seen(true), ['opening', 'loading', 'starting', 'ready']);
  assert.deepEqual(
    states.filter((state) => isOver({ state })),
    ['failed', 'left', 'closed'],
  );
});

test('why it is not seen is said, but for what only an admin can change', () => {
  assert.equal(reasonOf({ state: 'failed', error: new Error('The App did not start.') }), 'The App did not start.');
  assert.equal(reasonOf({ state: 'failed' }), 'It could not be opened.');
  assert.equal(reasonOf({ state: 'failed', unapproved: true, error: new Error('x') }), '');
  assert.match(reasonOf({ state: 'left' }), /sandbox/);
  assert.match(reasonOf({ state: 'silent' }), /not answer/);
  for (const state of ['opening', 'ready', 'closed'] as const) assert.equal(reasonOf({ state }), '');
});
