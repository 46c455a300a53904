import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spans, stoppedAt } from '../screens/call/checks.ts';
import { guess, joinCommand, splitCommand } from './command.ts';
import { authOf, lacks, parseHeaders } from './connection.ts';
import { snippetsOf } from './snippets.ts';

test('the time of a call is told in the order in which it went', () => {
  const all = spans({
    server: 'notes',
    status: 'success',
    duration_ns: 100,
    timing: { admitted_ns: 10, failed: [{ at_ns: 10, took_ns: 20, code: 'unavailable' }], connected_ns: 40, answered_ns: 90 },
  });
  assert.deepEqual(
    all.map((s) => [s.name, s.from, s.to, s.failed ?? false]),
    [
      ['Checks', 0, 10, false],
      ['Attempt 1: unavailable', 10, 30, true],
      ['Connection', 30, 40, false],
      ['notes, attempt 2', 40, 90, false],
      ['Record and respond', 90, 100, false],
    ],
  );
  assert.deepEqual(spans({ status: 'success', duration_ns: 5 }), []);
});

test('a refused call stopped at one gate', () => {
  assert.equal(stoppedAt({ status: 'denied', code: 'denied', reason: 'not on the list of the agent' }), 0);
  assert.equal(stoppedAt({ status: 'denied', code: 'denied', reason: 'this key or token lacks the scope tools:call' }), 1);
  assert.equal(stoppedAt({ status: 'limited', code: 'limited' }), 2);
  assert.equal(stoppedAt({ status: 'invalid', code: 'invalid', reason: 'the arguments do not fit the tool’s input schema at the top' }), 3);
  assert.equal(stoppedAt({ status: 'invalid', code: 'not_found', reason: 'there is no tool x' }), 0);
  assert.equal(stoppedAt({ status: 'denied', code: 'denied', reason: 'Talk about plans in person.', policy: [{}, { decided: true }] }), 4);
  assert.equal(stoppedAt({ status: 'denied', code: 'denied', policy: [{ decided: true }], timing: { answered_ns: 7 } }), 6);
  assert.equal(stoppedAt({ status: 'success' }), 6);
});

test('a command is written as it is read', () => {
  const words = ['npx', '-y', 'a b', "it's", ''];
  assert.deepEqual(splitCommand(joinCommand(words)).words, words);
});

test('what is pasted comes to where it belongs', () => {
  assert.equal(guess(' https://x.example/mcp '), 'url');
  assert.equal(guess('npx -y thing'), 'command');
  assert.equal(guess('{"mcpServers":{}}'), 'mcp.json');
});

test('of an auth only what belongs to its type is sent', () => {
  assert.deepEqual(authOf({ type: 'bearer', secret: 's', header: 'X', client_id: 'c' }), { type: 'bearer', secret: 's' });
  assert.deepEqual(authOf({ type: 'none', secret: 's' }), { type: 'none' });
  assert.equal(lacks({ type: 'oauth' }), '');
  assert.match(lacks({ type: 'basic', secret: 's' }), /name/);
  assert.deepEqual(parseHeaders('X-A: 1\n\nX-B: a:b').headers, { 'X-A': '1', 'X-B': 'a:b' });
  assert.match(parseHeaders('no').problem ?? '', /Name: value/);
});

test('the same call from elsewhere', () => {
  const tool = snippetsOf({ origin: 'http://x', kind: 'tool', server: '', name: 'a__b', args: { t: "it's" } });
  assert.deepEqual(
    tool.map((s) => s.key),
    ['curl', 'cli', 'go', 'ts', 'python'],
  );
  assert.match(tool[0]?.text ?? '', /it'\\''s/);
  const prompt = snippetsOf({ origin: 'http://x', kind: 'prompt', server: 'demo', name: 'greet', args: { name: 'Ada' } });
  assert.match(prompt[0]?.text ?? '', /http:\/\/x\/mcp\/s\/demo/);
});
