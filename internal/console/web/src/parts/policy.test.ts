import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyEntry } from '../api/policies';
import {
  bodyOf,
  checkableRule,
  draftOf,
  fieldOf,
  matchPattern,
  messageOf,
  missingIn,
  neighbourOf,
  placeQuery,
  problemsIn,
  targetOf,
  targetsTool,
  withRule,
  wrongIn,
} from './policy.ts';

const entry = (name: string, more: Partial<PolicyEntry> = {}): PolicyEntry => ({
  name,
  verdict: 'deny',
  position: 1,
  version: 'v',
  state: 'active',
  updated_at: '2026-11-19T10:00:00Z',
  ...more,
});
const said = (body: unknown) => JSON.parse(JSON.stringify(body));

test('a rule comes back from its fields as it was', () => {
  const rules = [
    { name: 'a', verdict: 'deny' },
    {
      name: 'b',
      title: 'B',
      phase: 'result',
      kinds: ['tool', 'resource'],
      target: { items: ['x/*', '*/y'], agents: ['*'], users: ['ann'], tenants: ['acme'] },
      when: 'has(args.a) &&\n  args.a > 1',
      verdict: 'redact',
      redact: ['email', 'secrets', 'pattern:A-\\d+'],
      mode: 'audit',
    },
    { name: 'c', phase: 'result', verdict: 'cut', max_size: 500 },
    { name: 'd', verdict: 'deny', message: 'No.', filter: { url: 'https://x', secret: 'env:S', timeout: '5s', on_failure: 'allow' } },
  ] as const;
  for (const r of rules) {
    const { name, ...body } = said(r);
    const draft = draftOf(said(r));
    assert.equal(draft.name, name);
    const back = said(bodyOf(draft));
    assert.deepEqual({ ...back, redact: back.redact?.sort() }, { ...body, redact: body.redact?.sort() });
  }
});

test('fields that another verdict has no use for are not sent', () => {
  const draft = { ...draftOf({}), verdict: 'deny' as const, detectors: ['email'], max: '5', url: 'https://x', filtered: false };
  assert.deepEqual(said(bodyOf(draft)), { verdict: 'deny' });
});

test('an incomplete rule can be checked', () => {
  const draft = { ...draftOf({ verdict: 'redact' }), phase: 'result' as const, name: 'No Name', when: 'x', filtered: true };
  assert.deepEqual(said(checkableRule(draft)), { name: 'new-rule', phase: 'result', verdict: 'redact', when: 'x', redact: ['secrets'] });
  assert.equal(missingIn(draft), 'Choose what is redacted.');
  assert.equal(missingIn({ ...draftOf({}), kinds: [] }), 'Choose at least one kind.');
  assert.equal(missingIn(draftOf({})), 'Enter a name.');
  assert.equal(missingIn(draftOf({ name: 'a' })), '');
});

test('what is wrong with a field is known without asking', () => {
  assert.deepEqual(wrongIn(draftOf({ name: 'a', target: { items: ['x/*'] } })), {});
  const wrong = wrongIn({ ...draftOf({ name: 'A' }), items: 'demo', max: '1.5', filtered: true, url: 'x' });
  assert.deepEqual(Object.keys(wrong).sort(), ['items', 'max', 'name', 'url']);
  assert.match(wrong.items ?? '', /demo\/\*/);
  assert.match(wrongIn(draftOf({ name: 'a' }), ['a']).name ?? '', /Another rule/);
});

test('problems come to their fields', () => {
  for (const [p, want] of [
    [{ line: 1, message: 'x' }, 'when'],
    [{ field: 'name', message: 'another rule has the same name' }, 'name'],
    [{ field: 'filter.secret', message: 'x' }, 'secret'],
    [{ field: '/rules/0/filter/url', message: '' }, 'url'],
    [{ message: 'the rule "a": target.items has a pattern that is empty' }, 'items'],
    [{ message: 'the rule "a": filter.timeout must be at most 30s' }, 'timeout'],
    [{ message: 'the rule "a": pattern:( is no regular expression' }, 'patterns'],
    [{ message: 'something else' }, 'other'],
  ] as const)
    assert.equal(fieldOf({ rule: 'a', ...p }), want, p.message);
  assert.equal(messageOf({ rule: 'a', message: 'the rule "a": no', suggestion: 'try b' }), 'No; try b');
  const found = problemsIn([
    { rule: 'a', line: 2, message: 'wrong' },
    { rule: 'a', message: 'no tool matches', warning: true },
    { rule: 'a', field: 'target.tenants', message: 'no' },
  ]);
  assert.deepEqual([found.condition.length, found.warnings.length, found.wrong], [1, 1, { tenants: 'No' }]);
});

test('a simulation has the rule in its place among the stored ones', () => {
  const stored = [entry('top', { operators: true, restricted: true }), entry('a'), entry('b'), entry('c')];
  const names = (name: string, place: string) =>
    withRule(stored, { name, verdict: 'allow' }, place).map((r) => r.name + (r.verdict === 'allow' ? '!' : ''));
  assert.deepEqual(names('b', ''), ['a', 'b!', 'c']);
  assert.deepEqual(names('new', ''), ['a', 'b', 'c', 'new!']);
  assert.deepEqual(names('new', 'first'), ['new!', 'a', 'b', 'c']);
  assert.deepEqual(names('c', 'before:a'), ['c!', 'a', 'b']);
  assert.deepEqual(names('a', 'after:b'), ['b', 'a!', 'c']);
  assert.deepEqual(placeQuery('before:a'), { before: 'a' });
  assert.deepEqual(placeQuery('last'), { last: 'true' });
  assert.deepEqual(placeQuery(''), {});
});

test('rules do not pass those of operators and of the settings file', () => {
  const all = [entry('top', { operators: true }), entry('filed', { declared: 'junctor.yaml' }), entry('a'), entry('b')];
  const [, , a, b] = all as [PolicyEntry, PolicyEntry, PolicyEntry, PolicyEntry];
  assert.equal(neighbourOf(all, a, -1), undefined);
  assert.equal(neighbourOf(all, a, 1), b);
  assert.equal(neighbourOf(all, b, -1), a);
  assert.equal(neighbourOf(all, b, 1), undefined);
  assert.equal(neighbourOf([all[0] as PolicyEntry, a], a, -1), undefined);
});

test('patterns match as those of the server do', () => {
  for (const [pattern, text, want] of [
    ['github/*', 'github/x', true],
    ['*', '', true],
    ['a*', 'ba', false],
    ['*delete*', 'undelete_all', true],
    ['a*a', 'a', false],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'aXc', false],
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*ab*ab', 'ab', false],
  ] as const)
    assert.equal(matchPattern(pattern, text), want, `${pattern} ${text}`);
  assert.ok(targetsTool('', { server: 'x', name: 'y' }));
  assert.ok(targetsTool('a/*\n*/y', { server: 'x', name: 'y' }));
  assert.ok(!targetsTool('a/*', { server: 'x', name: 'y' }));
  assert.ok(!targetsTool('x', { server: 'x', name: 'y' }));
});

test('a target is said in a line', () => {
  assert.equal(targetOf({}), 'every tool');
  assert.equal(targetOf({ kinds: ['tool', 'prompt'], target: { items: ['a/*'], agents: ['*'] } }), 'tools, prompts · a/* · agents *');
});
