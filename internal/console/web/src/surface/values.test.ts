import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asNumber, at, put, within } from './data.ts';
import { template } from './template.ts';
import { boundTo, faultOf, matches, resolve, textOf, type World } from './values.ts';

const world: World = {
  data: {
    name: 'Ada',
    'a/b': { '~c': 1 },
    items: [
      { name: 'tea', price: 2.5 },
      { name: 'cake', price: 1234 },
    ],
    when: '2026-02-14',
    at: '2026-02-14T15:04:05',
    zero: 0,
    no: false,
    amount: '45.32',
  },
  scope: '/items/1',
};

test('pointers reach what is there, and nothing that is not', () => {
  for (const [path, want] of [
    ['', world.data],
    ['/name', 'Ada'],
    ['/a~1b/~0c', 1],
    ['/items/0/name', 'tea'],
    ['/items/2/name', undefined],
    ['/items/-1', undefined],
    ['/items/length', undefined],
    ['/name/length', undefined],
    ['/constructor', undefined],
    ['/__proto__/x', undefined],
  ] as const)
    assert.deepEqual(at(world.data, path), want, path);
  assert.equal(within('/items/1', 'name'), '/items/1/name');
  assert.equal(within('/items/1', '/name'), '/name');
  assert.equal(within('/items/1', ''), '/items/1');
  assert.equal(within('', '/'), '');
});

test('putting changes one place and leaves what was', () => {
  const before = { a: [{ b: 1 }, { b: 2 }], c: 3 };
  const after = put(before, '/a/1/b', 5);
  assert.deepEqual(after, { a: [{ b: 1 }, { b: 5 }], c: 3 });
  assert.deepEqual(before, { a: [{ b: 1 }, { b: 2 }], c: 3 });
  assert.deepEqual(put({}, '/x/y', true), { x: { y: true } });
  assert.deepEqual(put(before, '/a/7/b', 5), before);
  assert.deepEqual(put('text', '/x', 1), { x: 1 });
  assert.deepEqual(put({}, '/~1a~0', 1), { '/a~': 1 });
  put({}, '/__proto__/polluted', 1);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('what was put is found there, whatever the path', () => {
  const words = ['a', '0', '1', '~', '/', '__proto__', 'ü', ''];
  for (let n = 0; n < 500; n++) {
    const path = Array.from({ length: 1 + (n % 4) }, (_, i) => {
      const word = words[(n * 7 + i * 3 + n) % words.length] ?? '';
      return `/${word.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    }).join('');
    assert.equal(at(put({}, path, n), path), n, path);
  }
});

test('properties are literals, places or calls', () => {
  const call = (name: string, args: Record<string, unknown>) => ({ call: name, args });
  for (const [property, want] of [
    ['plain', 'plain'],
    [{ path: '/name' }, 'Ada'],
    [{ path: 'name' }, 'cake'],
    [{ path: '/nowhere' }, undefined],
    [['a'], ['a']],
    [call('formatCurrency', { value: { path: 'price' }, currency: 'GBP' }), '£1,234.00'],
    [call('formatCurrency', { value: { path: '/amount' }, currency: 'USD' }), '$45.32'],
    [call('formatCurrency', { value: 5, currency: 'nonsense' }), '5.00'],
    [call('formatNumber', { value: 1234.567, decimals: 1 }), '1,234.6'],
    [call('formatNumber', { value: 1234, grouping: false }), '1234'],
    [call('formatNumber', { value: 'x' }), ''],
    [call('formatDate', { value: { path: '/when' }, format: "EEEE, d MMMM yyyy 'at' HH" }), 'Saturday, 14 February 2026 at 00'],
    [call('formatDate', { value: { path: '/at' }, format: 'h:mm a, yy-MM-dd' }), '3:04 PM, 26-02-14'],
    [call('formatDate', { value: 'never', format: 'yyyy' }), ''],
    [call('pluralize', { value: 1, one: '1 item', other: 'items' }), '1 item'],
    [call('pluralize', { value: 0, zero: 'none', other: 'items' }), 'none'],
    [call('pluralize', { value: 3, one: 'item', other: 'items' }), 'items'],
    [call('required', { value: { path: '/zero' } }), true],
    [call('required', { value: '' }), false],
    [call('required', { value: [] }), false],
    [call('length', { value: 'four', min: 4, max: 4 }), true],
    [call('length', { value: 'four', max: 3 }), false],
    [call('numeric', { value: '7', min: 1, max: 7 }), true],
    [call('numeric', { value: 'seven', min: 1 }), false],
    [call('email', { value: 'ada@example.com' }), true],
    [call('email', { value: 'ada@example' }), false],
    [call('regex', { value: 'AB12', pattern: '^[A-Z]{2}\\d+$' }), true],
    [call('and', { values: [true, call('not', { value: { path: '/no' } })] }), true],
    [call('or', { values: [false, { path: '/no' }] }), false],
    [call('openUrl', { url: 'https://example.com' }), undefined],
    [call('noSuch', {}), undefined],
  ] as const)
    assert.deepEqual(resolve(property, world), want, JSON.stringify(property));
});

test('a text is filled in', () => {
  const fill = (value: string) => textOf({ call: 'formatString', args: { value } }, world);
  for (const [text, want] of [
    ['Hello ${/name}!', 'Hello Ada!'],
    ["${name} is ${formatCurrency(value: ${price}, currency: 'GBP', decimals: 0)}", 'cake is £1,234'],
    ["on ${formatDate(value:${/when}, format:'MM-dd')}", 'on 02-14'],
    ["${formatString(value: 'in ${/name}')}", 'in Ada'],
    ['\\${/name}', '${/name}'],
    ['${/nowhere}.', '.'],
    ['${broken', '${broken'],
    ['${}', '${}'],
    ['${f(}', '${f(}'],
    ['${f(a b)}', '${f(a b)}'],
    ["${formatNumber(value: 2, decimals: 2)} ${pluralize(value: 2, one: 'x', other: \"it's\")}", "2.00 it's"],
    ['plain', 'plain'],
  ] as const)
    assert.equal(fill(text), want, text);
});

test('no text makes the reader fail or hang', () => {
  const bits = ['${', '}', '(', ')', ',', ':', "'", '"', '\\', 'f', '/a', ' ', '1', '$'];
  let seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648);
  for (let n = 0; n < 3000; n++) {
    const text = Array.from({ length: next() % 40 }, () => bits[next() % bits.length]).join('');
    assert.ok(Array.isArray(template(text)), text);
  }
  assert.ok(template('${'.repeat(20_000)).length >= 1);
});

test('calls within calls end', () => {
  let v: unknown = true;
  for (let i = 0; i < 200; i++) v = { call: 'not', args: { value: v } };
  assert.equal(typeof resolve(v, world), 'boolean');
});

test('patterns that would take for ever are passed by', () => {
  const begun = process.cpuUsage();
  for (const p of ['^(a+)+$', '^(a|a)*$', '^((a)*)*$', '(', '^(\\w+\\s?)*$']) assert.equal(matches(`${'a'.repeat(40)}!`, p), true, p);
  assert.ok(process.cpuUsage(begun).user < 2_000_000, 'two seconds of CPU time');
  assert.equal(matches('abc', '^b'), false);
});

test('the first check that does not hold has the word', () => {
  const checks = [
    { condition: { call: 'required', args: { value: { path: '/name' } } }, message: 'a name is needed' },
    { condition: { call: 'length', args: { value: { path: '/name' }, min: 5 } }, message: 'it is too short' },
  ];
  assert.equal(faultOf(checks, world), 'it is too short');
  assert.equal(faultOf(checks.slice(0, 1), world), '');
  assert.equal(faultOf(undefined, world), '');
  assert.equal(boundTo({ path: 'name' }, '/items/0'), '/items/0/name');
  assert.equal(boundTo('x', ''), undefined);
});

test('numbers are read strictly', () => {
  for (const [v, want] of [
    [1.5, 1.5],
    ['1.5', 1.5],
    ['-0.1278', -0.1278],
    ['', undefined],
    ['1,5', undefined],
    [Number.NaN, undefined],
    ['Infinity', undefined],
    [null, undefined],
    [true, undefined],
  ] as const)
    assert.equal(asNumber(v), want, String(v));
});
