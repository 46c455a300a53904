import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Server } from '../../api/client.ts';
import forms from '../../api/forms.json' with { type: 'json' };
import { canRebase } from '../../parts/edits.ts';

// Fields that nothing of the console names, as a new field of the API is.
Object.assign(forms.server.properties, {
  new_labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels of the server.' },
  new_mode: { type: 'string', enum: ['slow', 'fast'], description: 'How it works.' },
  new_limit: { type: 'integer', minimum: 0, maximum: 10, description: 'How many.' },
});
const { fieldOf, fieldsIn, fieldsOf, labels, patchOf, serverKind, shownSchema, wrongFields } = await import('./serverFields.ts');

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
const command = { ...upstream, transport: 'stdio', url: undefined, auth: undefined, command: ['notes', 'serve'] } as unknown as Server;

test('an unchanged form sends nothing', () => {
  for (const s of [upstream, generated, command]) assert.deepEqual(patchOf(fieldsOf(s), s), {});
});

test('a patch has the members of the kind of server', () => {
  const url = 'https://other.example';
  assert.deepEqual(patchOf({ ...fieldsOf(upstream), url, call_timeout: ' 90s' }, upstream), { url, call_timeout: '90s' });
  assert.deepEqual(patchOf({ ...fieldsOf(upstream), call_timeout: '' }, upstream), { call_timeout: '' });
  assert.deepEqual(patchOf({ ...fieldsOf(generated), url, include: 'GET\n\n POST ' }, generated), {
    base_url: url,
    include: ['GET', 'POST'],
  });
  assert.deepEqual(patchOf({ ...fieldsOf(command), command: "notes 'two words'", url }, command), { command: ['notes', 'two words'] });
  assert.deepEqual(patchOf({ ...fieldsOf(command), env: 'A=1' }, command), { env: { A: '1' } });
});

test('a form keeps what is typed when another field of the server changes', () => {
  const base = fieldsOf(upstream);
  assert.ok(canRebase(base, fieldsOf({ ...upstream, views: 'off', call_timeout: '9s' } as Server), { title: 'Mine' }));
  assert.ok(!canRebase(base, fieldsOf({ ...upstream, title: 'Theirs' } as Server), { title: 'Mine' }));
});

test('every setting of the API is in the form, once', () => {
  const elsewhere = ['state', 'views', 'overrides', 'format'];
  const shown = new Set<string>();
  for (const kind of ['url', 'command', 'generated'] as const) {
    const all = (['connection', 'use', 'advanced'] as const).flatMap((group) => fieldsIn(group, kind));
    assert.equal(new Set(all).size, all.length, `${kind} shows a field twice`);
    for (const name of all) shown.add(name);
  }
  const settings = [...Object.keys(forms.server.properties), ...Object.keys(forms.api.properties)].filter((n) => !elsewhere.includes(n));
  assert.deepEqual([...shown].sort(), settings.sort());
  for (const name of shown) assert.ok(labels[name], `${name} has no label`);
});

test('a form field that is named here is one of the API', () => {
  const settings = [...Object.keys(forms.server.properties), ...Object.keys(forms.api.properties)];
  for (const name of Object.keys(fieldsOf(upstream))) assert.ok(settings.includes(name), name);
});

test('a new setting of the API is in the form without being named', () => {
  for (const s of [upstream, command, generated]) {
    const advanced = fieldsIn('advanced', serverKind(s));
    assert.deepEqual(advanced.slice(-3), ['new_labels', 'new_mode', 'new_limit'], s.id);
    assert.ok(advanced.includes('call_timeout') && advanced.includes('call_timeout_max'), s.id);
  }
  assert.equal(fieldOf('new_limit').label, 'New limit');
  assert.deepEqual(shownSchema('new_labels', ''), {
    type: 'string',
    format: 'textarea',
    description: 'One name=value per line. Labels of the server.',
  });
  const values = (stored: string) => (shownSchema('new_mode', stored).oneOf ?? []).map((o) => o.const);
  assert.deepEqual(values(''), ['', 'slow', 'fast']);
  assert.deepEqual(values('slow'), ['slow', 'fast'], 'the API has no word that takes a word back');
  assert.deepEqual(patchOf({ ...fieldsOf(upstream), new_labels: 'a.b=c\n', new_mode: 'fast', new_limit: 3 }, upstream), {
    new_labels: { 'a.b': 'c' },
    new_mode: 'fast',
    new_limit: 3,
  });
});

test('what is wrong with a changed field is said', () => {
  const wrong = (part: object, s = upstream) => wrongFields({ ...fieldsOf(s), ...part }, s).map((w) => `${w.pointer} ${w.message}`);
  assert.deepEqual(wrong({}), []);
  assert.deepEqual(wrong({ new_limit: 11 }), ['/new_limit must be at most 10']);
  assert.deepEqual(wrong({ headers: 'X-Team' }), ['/headers “X-Team” is not Name: value.']);
  assert.deepEqual(wrong({ new_labels: '=a' }), ['/new_labels “=a” is not name=value.']);
  assert.deepEqual(wrong({ command: "notes 'two" }, command), ['/command A single quote is not closed.']);
  assert.deepEqual(wrong({ command: "notes 'two" }), [], 'a server at a URL has no command');
});
