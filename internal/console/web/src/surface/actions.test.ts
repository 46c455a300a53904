import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actOf } from './actions.ts';

const surface = { id: 's', components: [] };
const world = { data: { rows: [{ id: 'tx1', amount: '4.50' }], note: 'hi' }, scope: '/rows/0' };
const act = (action: unknown) => actOf(action, surface, 'b', world);

test('an event carries the data of the moment, from where it was pressed', () => {
  assert.deepEqual(
    act({ event: { name: 'pick', context: { id: { path: 'id' }, note: { path: '/note' }, fixed: 3, gone: { path: 'no' } } } }),
    {
      kind: 'tell',
      deed: { surfaceId: 's', component: 'b', name: 'pick', context: { id: 'tx1', note: 'hi', fixed: 3 } },
    },
  );
  assert.deepEqual(act({ event: { name: 'plain' } }), {
    kind: 'tell',
    deed: { surfaceId: 's', component: 'b', name: 'plain', context: {} },
  });
});

test('what a row adds is told, unless the action says otherwise', () => {
  const told = (context: unknown) => {
    const a = actOf({ event: { name: 'pick', context } }, surface, 'b', world, { more: { id: 'row' } });
    return a.kind === 'tell' ? a.deed.context : undefined;
  };
  assert.deepEqual(told(undefined), { id: 'row' });
  assert.deepEqual(told({ id: { path: 'id' }, x: 1 }), { id: 'tx1', x: 1 });
});

test('what stood on it is said in words', () => {
  const a = actOf({ event: { name: 'pick' } }, surface, 'b', world, { label: ' Tesco\n  £4.50 ' });
  assert.equal(a.kind === 'tell' && a.deed.text, 'pressed “Tesco £4.50”');
});

test('a browser opens the web and nothing else', () => {
  const open = (url: unknown) => act({ functionCall: { call: 'openUrl', args: { url } } });
  assert.deepEqual(open('https://example.com/x'), { kind: 'open', url: 'https://example.com/x' });
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/api/v1/keys', '', 7, undefined])
    assert.deepEqual(open(url), { kind: 'nothing' }, String(url));
});

test('what is no action does nothing', () => {
  for (const a of [undefined, null, 'x', {}, { event: {} }, { event: { name: '' } }, { functionCall: { call: 'rm', args: {} } }])
    assert.deepEqual(act(a), { kind: 'nothing' }, JSON.stringify(a));
});
