import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import test from 'node:test';

// Styles of components are taken one by one: a component whose styles are not
// taken looks broken, and nothing else says so.
test('every component has its styles', () => {
  const taken = readFileSync('src/main.tsx', 'utf8');
  const used = new Set<string>();
  for (const file of globSync('src/**/*.tsx'))
    for (const [, names] of readFileSync(file, 'utf8').matchAll(/import \{([^}]*)\} from '@mantine\/core'/g))
      for (const name of names?.split(',') ?? []) used.add(name.trim());
  const missing = [...used].filter(
    (name) => existsSync(`node_modules/@mantine/core/styles/${name}.css`) && !taken.includes(`/styles/${name}.css'`),
  );
  assert.deepEqual(missing, []);
});
