import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from './diff.ts';
import { check, choices, initial, kindOf, type Schema } from './schema.ts';

const schema: Schema = {
  type: 'object',
  required: ['a', 'list', 'on'],
  additionalProperties: false,
  properties: {
    a: { type: 'integer', minimum: 1 },
    b: { $ref: '#/$defs/word', description: 'own words' },
    list: { type: 'array', items: { type: 'string' }, minItems: 1 },
    on: { type: 'boolean' },
    size: { type: 'string', default: 'm', enum: ['s', 'm'] },
  },
  $defs: { word: { type: 'string', minLength: 2, pattern: '^x' } },
};

test('a form begins with what is needed', () => {
  assert.deepEqual(initial(schema), { list: [], on: false, size: 'm' });
});

test('what is wrong is said at its place', () => {
  assert.deepEqual(check({ a: 1, list: ['x'], on: true, b: 'xy' }, schema), []);
  assert.deepEqual(
    check({ a: 0.5, list: [], b: 'y', 'c/d': 1, size: 'l' }, schema).map((w) => w.pointer),
    ['/on', '/a', '/list', '/b', '/b', '/c~1d', '/size'],
  );
  assert.deepEqual(check([], schema), [{ pointer: '', message: 'must be object' }]);
});

test('a pattern that could take ages is not tried', () => {
  assert.deepEqual(check('a'.repeat(60), { type: 'string', pattern: '^(a+)+$b' }), []);
});

test('kinds', () => {
  assert.equal(kindOf({ type: ['string', 'null'] }), 'string');
  assert.equal(kindOf({ oneOf: [{ const: 'a', title: 'A' }] }), 'choice');
  assert.deepEqual(choices({ enum: ['a', 1] }), [
    { value: 'a', name: 'a' },
    { value: 1, name: '1' },
  ]);
  assert.equal(kindOf({}), 'any');
});

test('a diff keeps what is common together', () => {
  assert.deepEqual(diff('a\nb\nc', 'a\nx\nc'), [
    { left: 'a', right: 'a', same: true },
    { left: 'b', right: 'x', same: false },
    { left: 'c', right: 'c', same: true },
  ]);
});
