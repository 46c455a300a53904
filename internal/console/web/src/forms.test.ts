import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';

// A component whose key has a version or a value is mounted again when the thing is
// read again, and what somebody typed into it is lost. Keys are IDs.
test('no component is keyed by a version of what it shows', () => {
  const wrong: string[] = [];
  for (const file of globSync('src/**/*.tsx'))
    for (const [, name, key] of readFileSync(file, 'utf8').matchAll(/<([A-Z]\w*)\b[^<>]*?\bkey=\{((?:[^{}]|\{[^{}]*\})*)\}/g))
      if (/_at\b|updated|version|JSON\.stringify/.test(key ?? '')) wrong.push(`${file}: ${name} is keyed by ${key}`);
  assert.deepEqual(wrong, []);
});
