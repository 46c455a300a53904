import assert from 'node:assert/strict';
import { test } from 'node:test';
import { variables } from './context.ts';

// Fonts that every system has under these names, or leaves out without harm.
const known = ['ui-sans-serif', 'system-ui', 'sans-serif', 'ui-monospace', 'monospace', 'SFMono-Regular', 'Menlo'];

test('an App is told of no font that it is not given', () => {
  const told = variables(() => '#000', 'light');
  for (const name of ['--font-sans', '--font-mono']) {
    const families = (told[name] ?? '').split(',').map((f) => f.trim().replaceAll("'", ''));
    assert.ok(families.length > 1, name);
    for (const family of families) assert.ok(known.includes(family), `${name} names ${family}`);
  }
});
