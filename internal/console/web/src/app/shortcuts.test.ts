import assert from 'node:assert/strict';
import test from 'node:test';
import { docsOf, places } from './navigation.ts';
import { keyReader, patience, shortcutsFor } from './shortcuts.ts';

test('each letter opens one screen', () => {
  const keys = places.flatMap((p) => (p.key ? [p.key] : []));
  assert.equal(new Set(keys).size, keys.length);
  for (const key of keys) assert.match(key, /^[a-z]$/);
});

test('keys that follow each other open a screen', () => {
  const table = shortcutsFor(places);
  const open = (...keys: [string, number][]) => {
    const read = keyReader(table);
    return keys.map(([key, at]) => read(key, at)).map((s) => s?.path ?? (s?.help ? 'help' : ''));
  };
  assert.deepEqual(open(['g', 0], ['s', 100]), ['', '/servers']);
  assert.deepEqual(open(['g', 0], ['o', 100]), ['', '/']);
  assert.deepEqual(open(['g', 0], ['g', 100], ['g', 200], ['t', 300]), ['', '/gallery', '', '/tools']);
  assert.deepEqual(open(['g', 0], ['z', 100], ['s', 200]), ['', '', ''], 'an unknown letter ends it');
  assert.deepEqual(open(['g', 0], ['s', patience + 1]), ['', ''], 'too late');
  assert.deepEqual(open(['s', 0], ['?', 100]), ['', 'help']);
  assert.deepEqual(open(['g', 0], ['?', 100]), ['', 'help']);
});

test('a user without a screen has no shortcut to it', () => {
  const read = keyReader(shortcutsFor(places.filter((p) => !p.needs)));
  read('g', 0);
  assert.equal(read('s', 1), undefined);
});

test('every address has a page of the documentation', () => {
  for (const [at, search, want] of [
    ['/servers', '', 'guides/servers'],
    ['/servers/demo', '', 'guides/servers'],
    ['/servers/demo', '?tab=keys', 'guides/servers'],
    ['/servers/add', '', 'guides/servers#add-a-server'],
    ['/settings', '', 'guides/console'],
    ['/settings', '?tab=keys', 'operate/access#keys'],
    ['/settings', '?tab=%22%3E', 'guides/console'],
    ['/nothing', '', 'guides/console'],
  ] as const)
    assert.equal(docsOf(at, search), `/docs/${want}`);
});
