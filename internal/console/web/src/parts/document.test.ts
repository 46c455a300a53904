import assert from 'node:assert/strict';
import { test } from 'node:test';
import { looksLikeAPI, pack, rowAt, rowsOf, rowText, tableOf, tableText, unpack, withPath } from './document.ts';

const widest = 50;

test('a text is drawn in rows that together are the text', () => {
  for (const text of ['', 'a', 'a\n', 'a\r\nb', '\n\n', `${'x'.repeat(3 * widest)}\ny`, 'x'.repeat(widest), 'é'.repeat(widest + 1)]) {
    const r = rowsOf(text, widest);
    const lines: string[] = [];
    for (let i = 0; i < r.count; i++) lines[(r.of[i] as number) - 1] = (lines[(r.of[i] as number) - 1] ?? '') + rowText(r, i);
    assert.equal(lines.join('\n'), text.replaceAll('\r\n', '\n'), JSON.stringify(text.slice(0, 20)));
    assert.equal(r.lines, text.split('\n').length);
  }
});

test('a place is found by line and column', () => {
  const r = rowsOf(`one\n${'x'.repeat(2 * widest + 5)}\nthree`, widest);
  assert.equal(rowAt(r, 1), 0);
  assert.equal(rowAt(r, 2, 3), 1);
  assert.equal(rowAt(r, 2, widest + 1), 2);
  assert.equal(rowAt(r, 2, 9999), 3);
  assert.equal(rowAt(r, 3), 4);
  assert.equal(rowAt(r, 99), 4);
});

test('a document of megabytes, in one line or in many, is cut at once', () => {
  for (const text of ['{"a":1},'.repeat(1_700_000), '  "a": 1,\n'.repeat(1_400_000)]) {
    const r = rowsOf(text, widest);
    assert.equal(rowText(r, rowAt(r, r.lines, text.length)).length <= widest, true);
  }
});

test('files of a document are one text, and come out of it again', () => {
  assert.equal(pack([{ name: 'a.yaml', text: 'openapi: 3.1.0' }]), 'openapi: 3.1.0');
  const text = pack([
    { name: 'pet.yaml', text: 'type: object' },
    { name: 'api.yaml', text: 'info: {}\nopenapi: 3.1.0' },
  ]);
  assert.ok(text.startsWith('{"junctor_document":"api.yaml"'));
  const all = unpack(text);
  assert.equal(all.main, 'api.yaml');
  assert.equal(all.files.get('pet.yaml'), 'type: object');
  assert.deepEqual([...unpack('openapi: 3.1.0', 'x.yaml').files], [['x.yaml', 'openapi: 3.1.0']]);
});

test('what is pasted is known by how it looks', () => {
  for (const api of [
    'https://a.example/openapi.json',
    'https://a.example/v3/api-docs',
    'https://a.example/spec.yaml?x=1',
    'https://a.example/graphql',
    'info: {}\nopenapi: 3.1.0',
    '{"swagger": "2.0"}',
    '{"info":{"_postman_id":"x"}}',
    '{"log":{"entries":[]}}',
    'curl https://a.example/x',
    'type Query {\n  a: Int\n}',
  ])
    assert.ok(looksLikeAPI(api), api);
  for (const other of ['https://a.example/mcp', 'npx -y server', '{"mcpServers":{}}', '']) assert.ok(!looksLikeAPI(other), other);
});

test('a table becomes a document and comes back', () => {
  const op = withPath({ method: 'GET', path: '', summary: 'One', parameters: [] }, '/pets/{id}/toys/{toy}');
  assert.deepEqual(
    op.parameters.map((p) => [p.name, p.in, p.required]),
    [
      ['id', 'path', true],
      ['toy', 'path', true],
    ],
  );
  assert.deepEqual(
    withPath(op, '/pets/{id}').parameters.map((p) => p.name),
    ['id'],
  );
  const text = tableText('Pets', 'https://a.example', [op, { method: 'GET', path: ' ', summary: '', parameters: [] }]);
  assert.deepEqual(tableOf(text), { title: 'Pets', base: 'https://a.example', operations: [op] });
  assert.equal(tableText('Pets', '', []), '');
  assert.equal(tableOf('openapi: 3.1.0'), undefined);
  assert.equal(tableOf('{"openapi":"3.1.0","operations":[]}'), undefined);
});
