import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsOf, completionsAt, fixOf, isInText, markOf, offsetOf, partsOf, variables } from './condition.ts';

const pay = {
  type: 'object',
  required: ['amount'],
  properties: {
    amount: { type: 'integer', description: 'in cents' },
    note: { type: 'string' },
    to: { $ref: '#/$defs/account' },
    'per-page': { type: 'integer' },
  },
  $defs: { account: { type: 'object', properties: { iban: { type: 'string' } }, required: ['iban'] } },
};
const refund = { type: 'object', properties: { amount: { type: 'string' }, note: { type: 'string' } }, required: ['amount', 'note'] };
const known = variables('call', argumentsOf([pay]));

// offered completes at the end of a text, or at | in it.
const offered = (text: string, asked = false, of = known) => {
  const at = text.includes('|') && !text.includes('||') ? text.indexOf('|') : text.length;
  return completionsAt(text.includes('||') ? text : text.replace('|', ''), at, of, asked);
};
const labels = (text: string, asked = false, of = known) => offered(text, asked, of)?.options.map((o) => o.label) ?? [];

test('arguments are those of the schemas of all tools', () => {
  assert.deepEqual(
    argumentsOf([pay]).map((m) => [m.name, m.type, m.about]),
    [
      ['amount', 'integer', 'in cents'],
      ['note', 'text', 'optional: ask has() first'],
      ['to', 'object', 'optional: ask has() first'],
    ],
  );
  const both = argumentsOf([pay, refund]);
  assert.deepEqual(
    both.map((m) => [m.name, m.type, m.about]),
    [
      ['amount', 'any', 'in cents'],
      ['note', 'text', 'optional: ask has() first'],
      ['to', 'object', 'in 1 of 2 tools; optional: ask has() first'],
    ],
  );
  assert.deepEqual(
    both.find((m) => m.name === 'to')?.members?.map((m) => m.name),
    ['iban'],
  );
  assert.deepEqual(argumentsOf([undefined, {}, { type: 'object' }]), []);
});

test('a schema that refers to itself ends', () => {
  const tree = { type: 'object', properties: { child: { $ref: '#' }, name: { type: 'string' } } };
  let depth = 0;
  for (let m = argumentsOf([tree]); m.length > 0; m = m.find((x) => x.name === 'child')?.members ?? []) depth++;
  assert.ok(depth > 1 && depth < 8, `${depth}`);
});

test('words are completed with variables, functions and members', () => {
  assert.deepEqual(labels('ar'), ['args']);
  assert.deepEqual(labels('args.am'), ['amount']);
  assert.deepEqual(labels('args.'), ['amount', 'note', 'to']);
  assert.deepEqual(labels('args.to.'), ['iban']);
  assert.deepEqual(labels('principal.'), ['user', 'agent', 'role', 'groups', 'tenant', 'key', 'client']);
  assert.deepEqual(labels('tool.read'), ['read_only']);
  assert.deepEqual(labels('!tool.only'), ['read_only'], 'a part of the name is enough');
  assert.deepEqual(labels('glob(args.no|, "x")'), ['note']);
  assert.deepEqual(labels('args.note.con'), ['contains(text)']);
  assert.deepEqual(labels('principal.groups.ex'), ['exists(x, condition)']);
  assert.deepEqual(labels('principal.groups.exists(g, g.st')[0], 'startsWith(text)');
  assert.ok(labels('domain(args.note).').includes('endsWith(text)'));
  assert.ok(labels('args.amount > 5 || ha').includes('has(args.name)'));
  assert.deepEqual(labels('res'), [], 'a call has no result yet');
  assert.deepEqual(labels('res', false, variables('result', [])), ['result']);
});

test('nothing is offered where no word begins, unless it is asked for', () => {
  assert.deepEqual(labels(''), []);
  assert.deepEqual(labels('args.amount > '), []);
  assert.deepEqual(labels('args.amount > 5'), []);
  assert.deepEqual(labels('args.amount'), [], 'the word is complete');
  assert.deepEqual(labels('args.nothing.qq'), []);
  assert.deepEqual(labels('size'), ['size(value)']);
  assert.ok(labels('', true).length > 8);
  for (const text of ['args.note == "ar', "args.note == 'a\\'ar", 'true // ar']) {
    assert.ok(isInText(text, text.length), text);
    assert.deepEqual(labels(text, true), [], text);
  }
  assert.ok(!isInText('args.note == "x" && ', 20));
});

test('what is inserted replaces the word, and leaves the caret where one goes on', () => {
  const found = offered('true && fa|lse');
  assert.deepEqual([found?.from, found?.to], [8, 13]);
  const method = offered('args.note.con')?.options[0];
  assert.deepEqual([method?.insert, method?.back], ['contains("")', 2]);
  assert.equal(offered('si|(args.note)')?.options[0]?.insert, 'size', 'its parentheses are there');
});

test('lines and columns count characters', () => {
  assert.equal(offsetOf('a\nbc', 2, 2), 3);
  assert.equal(offsetOf('"😀" == x', 1, 5), 5, 'a character of two units counts once');
  assert.equal(offsetOf('a', 7, 1), 1);
});

test('a problem is marked at its place', () => {
  const marked = (text: string, line: number, column: number, message: string) => {
    const m = markOf(text, { line, column, message });
    return text.slice(m.from, m.to);
  };
  const text = 'has(args.txt) &&\n  args.txt == "x"';
  // The place of a member may be that of what it belongs to, or of the dot.
  for (const column of [3, 7]) {
    const m = markOf(text, { line: 2, column, message: 'the tool has no argument args.txt' });
    assert.deepEqual([m.from, m.to], [19, 27], `${column}`);
  }
  assert.equal(marked('args.text == principal.usr', 1, 23, "undefined field 'usr'"), 'usr');
  assert.equal(marked('arg.text == "x"', 1, 1, "undeclared reference to 'arg'"), 'arg');
  assert.equal(marked('args.n = 5', 1, 8, 'token recognition error'), '=');
  assert.equal(marked('size(args.n) == "5"', 1, 14, 'found no matching overload'), '==');
  assert.equal(marked('args.n ==', 1, 10, "mismatched input '<EOF>'"), '=', 'the end is marked at the last character');
  assert.equal(marked('hours("Mon", "Mars")', 1, 14, 'unknown zone'), '"Mars"');
});

test('a suggestion can be applied', () => {
  const fix = (text: string, message: string, suggestion: string, column = 1) => fixOf(text, { line: 1, column, message, suggestion });
  assert.deepEqual(fix('size(args.txt) > 5', 'the tool has no argument args.txt', 'did you mean text?', 6), {
    name: 'Use text',
    text: 'size(args.text) > 5',
  });
  assert.deepEqual(
    fix('principl.user == "a"', "undeclared reference to 'principl'", 'did you mean principal?')?.text,
    'principal.user == "a"',
  );
  const open = ['calls may leave out args.note, and the rule could not be evaluated then', 'write has(args.note) && …'] as const;
  assert.deepEqual(fix('args.note == "x"', ...open), { name: 'Add has(args.note)', text: 'has(args.note) && args.note == "x"' });
  assert.equal(fix('args.note == "x" || tool.read_only', ...open), undefined, 'it would change what the other side means');
  assert.equal(fix('x', 'no', 'avoid loops'), undefined);
});

test('a text is cut at its marks', () => {
  assert.deepEqual(
    partsOf('abcdef', [
      { from: 1, to: 3 },
      { from: 2, to: 4 },
    ]).map((p) => [p.text, p.marked]),
    [
      ['a', false],
      ['b', true],
      ['c', true],
      ['d', true],
      ['ef', false],
    ],
  );
  assert.deepEqual(partsOf('', [{ from: 0, to: 0 }]), []);
});
