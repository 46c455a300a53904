import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from '../api/eventReader.ts';
import { parseEnv, splitCommand, suggestID } from './command.ts';
import { ago, bytes, span } from './format.ts';
import { parseMcpJson } from './mcpjson.ts';
import { matches } from './search.ts';

test('a command line is cut into words as it is written', () => {
  assert.deepEqual(splitCommand(`npx -y "a b" 'c"d' e\\ f ""`).words, ['npx', '-y', 'a b', 'c"d', 'e f', '']);
  assert.deepEqual(splitCommand('a $HOME `x` ; rm').words, ['a', '$HOME', '`x`', ';', 'rm']);
  assert.match(splitCommand('a "b').problem ?? '', /double quote/);
});

test('environment lines', () => {
  assert.deepEqual(parseEnv('A=1\n\nB=x=y').env, { A: '1', B: 'x=y' });
  assert.match(parseEnv('no').problem ?? '', /NAME=value/);
});

test('ids are suggested', () => {
  assert.equal(suggestID(['https://mcp.notes.example.com/mcp']), 'example');
  assert.equal(suggestID(['npx', '-y', '@modelcontextprotocol/server-filesystem@1.2.3', '/srv']), 'filesystem');
  assert.equal(suggestID(['http://127.0.0.1:3000/mcp']), 'local');
});

test('configurations of clients are read', () => {
  const { found } = parseMcpJson(
    '{"mcpServers":{"a b":{"command":"npx","args":["x"],"env":{"K":"v"}},"c":{"url":"https://x/mcp","type":"sse"},"d":{}}}',
  );
  assert.deepEqual(found[0], { id: 'a-b', name: 'a b', transport: 'stdio', command: ['npx', 'x'], env: { K: 'v' }, cwd: undefined });
  assert.equal(found[1]?.transport, 'sse');
  assert.match(found[2]?.problem ?? '', /neither/);
  assert.match(parseMcpJson('{').problem ?? '', /Invalid JSON/);
  assert.match(parseMcpJson('{"x":1}').problem ?? '', /no servers/);
});

test('events are cut at their ends, wherever the pieces are', () => {
  const r = new EventReader();
  assert.deepEqual(r.push('event: a\nda'), []);
  assert.deepEqual(r.push('ta: {"x":1}\n\nevent: b\ndata: 2\n'), [{ name: 'a', data: '{"x":1}' }]);
  assert.deepEqual(r.push('\n'), [{ name: 'b', data: '2' }]);
});

test('values for people', () => {
  const now = new Date('2026-01-01T00:10:00Z');
  assert.equal(ago(new Date('2026-01-01T00:09:58Z'), now), 'now');
  assert.equal(ago(new Date('2026-01-01T00:02:00Z'), now), '8 min ago');
  assert.equal(ago(new Date('2026-01-03T00:10:00Z'), now), 'in 2 d');
  assert.equal(span(1_500_000), '1.5 ms');
  assert.equal(bytes(2048), '2.0 KiB');
  assert.ok(matches('echo demo', 'demo__echo'));
  assert.ok(!matches('echo x', 'demo__echo'));
});
