import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changes, variables } from './context.ts';
import { cleanName, fileOf, linkOf, parts } from './files.ts';

test('names of files are only names', () => {
  for (const [uri, want] of [
    ['file:///report.csv', 'report.csv'],
    ['file:///a/b/report%20one.csv?x=1#y', 'report one.csv'],
    ['file:///..%2F..%2Fetc%2Fpasswd', 'passwd'],
    ['..\\..\\evil.bat', 'evil.bat'],
    ['x:///.bashrc', 'bashrc'],
    ['x:///photo\u202Egpj.exe', 'photogpj.exe'],
    ['x:///a\u0000b\n.txt', 'ab.txt'],
    ['x:///con.txt', '_con.txt'],
    ['', 'download'],
    ['x:///...', 'download'],
    [`x:///${'n'.repeat(300)}.json`, `${'n'.repeat(95)}.json`],
    ['x:///%E0%A4%A', '%E0%A4%A'],
  ] as const)
    assert.equal(cleanName(uri), want);
});

test('contents become bytes', () => {
  assert.deepEqual(fileOf({ uri: 'file:///a.txt', text: 'ä', mimeType: 'text/plain' }), {
    name: 'a.txt',
    type: 'text/plain',
    size: 2,
    body: new Uint8Array([0xc3, 0xa4]),
  });
  assert.deepEqual(fileOf({ uri: 'file:///a.bin', blob: 'AAH/' })?.body, new Uint8Array([0, 1, 255]));
  for (const bad of [null, {}, { uri: 'x' }, { uri: 'x', blob: '***' }, { text: 'x' }]) assert.equal(fileOf(bad), undefined);
});

test('only the web is linked to', () => {
  assert.equal(linkOf('https://example.com/a?b')?.host, 'example.com');
  for (const bad of [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:x',
    '//a.example',
    7,
    undefined,
    'ftp://a.example',
  ])
    assert.equal(linkOf(bad), undefined);
});

test('arguments come in pieces that grow', () => {
  assert.deepEqual(parts({ a: 'four', n: 1 }), [{ a: 'fo' }, { a: 'four' }, { a: 'four', n: 1 }]);
  assert.deepEqual(parts({}), []);
});

test('only what changed is told', () => {
  assert.deepEqual(changes({ theme: 'light', locale: 'en' }, { theme: 'dark', locale: 'en' }), { theme: 'dark' });
});

test('every variable of the protocol has a value', () => {
  const all = variables((name) => `value of ${name}`, 'light');
  assert.equal(Object.keys(all).length, 76);
  for (const value of Object.values(all)) assert.ok(value);
});
