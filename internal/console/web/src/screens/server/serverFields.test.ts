import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Server } from '../../api/client.ts';
import { canRebase } from '../../parts/edits.ts';
import { fieldsOf, labels, patchOf } from './serverFields.ts';

const upstream = {
  id: 'notes',
  mode: 'bring-your-own',
  transport: 'http',
  url: 'https://notes.example/mcp',
  headers: { 'X-Team': '***' },
  auth: { type: 'bearer', secret: '***' },
  call_timeout: '5s',
} as unknown as Server;
const generated = {
  id: 'shop',
  mode: 'auto-generated',
  url: 'https://shop.example/v1',
  api: { include: ['GET'], document_url: 'https://shop.example/openapi.json' },
} as unknown as Server;

test('an unchanged form sends nothing', () => {
  for (const s of [upstream, generated]) assert.deepEqual(patchOf(fieldsOf(s), s), {});
});

test('a patch has the members of the kind of server', () => {
  const url = 'https://other.example';
  assert.deepEqual(patchOf({ ...fieldsOf(upstream), url, timeout: '90s' }, upstream), { url, call_timeout: '90s' });
  assert.deepEqual(patchOf({ ...fieldsOf(generated), url, rules: 'GET\n\n POST ' }, generated), {
    base_url: url,
    include: ['GET', 'POST'],
  });
  const command = { ...upstream, transport: 'stdio', url: undefined, command: ['notes', 'serve'] } as unknown as Server;
  assert.deepEqual(patchOf({ ...fieldsOf(command), command: "notes 'two words'" }, command), { command: ['notes', 'two words'] });
});

test('a form keeps what is typed when another field of the server changes', () => {
  const base = fieldsOf(upstream);
  assert.ok(canRebase(base, fieldsOf({ ...upstream, views: 'off', call_timeout: '9s' } as Server), { title: 'Mine' }));
  assert.ok(!canRebase(base, fieldsOf({ ...upstream, title: 'Theirs' } as Server), { title: 'Mine' }));
});

test('every field has a label', () => {
  assert.deepEqual(Object.keys(labels).sort(), Object.keys(fieldsOf(upstream)).sort());
});
