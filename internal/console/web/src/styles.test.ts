import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import test from 'node:test';

// Styles of components are taken one by one: a component whose styles are not
// taken looks broken, and nothing else says so.
test('every component has its styles', () => {
  const taken = readFileSync('src/main.tsx', 'utf8');
  const missing = new Set<string>();
  for (const file of globSync('src/**/*.tsx')) {
    const source = readFileSync(file, 'utf8'); // a file may take what it alone needs
    for (const [, names] of source.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g))
      for (const name of names?.split(',').map((n) => n.trim().replace(/ as .*/, '')) ?? [])
        if (existsSync(`node_modules/@mantine/core/styles/${name}.css`) && ![taken, source].some((t) => t.includes(`/styles/${name}.css'`)))
          missing.add(name);
  }
  assert.deepEqual([...missing], []);
});
