import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure } from '../api/failure.ts';
import { faultsOf, unplaced } from './faults.ts';

const failure = (problem: object) => new Failure({ code: 'invalid', detail: '', ...problem }, 'POST /users');

test('what the server says of a field is placed at the field', () => {
  const refused = failure({
    errors: [
      { in: 'body', pointer: '/name', message: 'is too long' },
      { in: 'body', pointer: '/name/0', message: 'second' },
      { in: 'body', pointer: '/other', message: 'no such field' },
      { in: 'query', pointer: '/role', message: 'not of the body' },
    ],
  });
  assert.deepEqual(faultsOf(refused, ['name', 'role']), { name: 'is too long' });
  assert.deepEqual(faultsOf(failure({ detail: 'role: unknown role "x"' }), ['name', 'role']), { role: 'unknown role "x"' });
  assert.deepEqual(faultsOf(failure({ detail: 'the name "a b" contains a space' }), ['name']), { name: 'the name "a b" contains a space' });
  assert.deepEqual(faultsOf(failure({ code: 'conflict', detail: 'there is a user "ada"' }), ['name'], 'name'), {
    name: 'there is a user "ada"',
  });
});

test('what is said of no field stays an error of the form', () => {
  for (const error of [
    failure({ detail: 'renamed servers are not possible' }),
    failure({ code: 'conflict', detail: 'x' }),
    new Error('x'),
    null,
  ])
    assert.deepEqual(faultsOf(error, ['name']), {});
  const refused = failure({ code: 'unavailable', detail: 'later' });
  assert.equal(unplaced(refused, faultsOf(refused, ['name'], 'name')), refused);
  assert.equal(unplaced(refused, { name: 'x' }), null);
});
