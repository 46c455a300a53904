import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atCaret, complete } from './addressing.ts';

test('a name is completed where it is written', () => {
  for (const [text, caret, want] of [
    ['@ma', 3, '@math '],
    ['ask @', 5, 'ask @math '],
    ['ask @ma now', 7, 'ask @math now'],
    ['(@m', 3, '(@math '],
    ['line\n@MA', 8, 'line\n@math '],
    ['@math', 2, '@math '],
  ] as [string, number, string][]) {
    const n = atCaret(text, caret);
    assert.ok(n, text);
    const done = complete(text, n, 'math');
    assert.equal(done.text, want);
    assert.equal(done.text.slice(0, done.caret).trimEnd().endsWith('@math'), true);
  }
});

test('what is no name is left alone', () => {
  for (const [text, caret] of [
    ['mail@ma', 7],
    ['@math ', 6],
    ['ma', 2],
    ['', 0],
    ['@a b', 4],
  ] as [string, number][])
    assert.equal(atCaret(text, caret), undefined, text);
});
