import assert from 'node:assert/strict';
import { test } from 'node:test';

// formatsIn loads the formats as a browser in a language does.
async function formatsIn(language: string): Promise<typeof import('./formats.ts')> {
  const former = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: { language }, configurable: true });
  try {
    const name = `./formats.ts?${language}`;
    return (await import(name)) as typeof import('./formats.ts');
  } finally {
    if (former) Object.defineProperty(globalThis, 'navigator', former);
  }
}
const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ');

test('amounts, numbers and days are written as in the language of the browser', async () => {
  for (const [language, money, number, day] of [
    ['en-GB', '£1,045.32', '1,234.5', '14 Feb 2026'],
    ['en-US', '£1,045.32', '1,234.5', 'Feb 14, 2026'],
    ['de-DE', '1.045,32 £', '1.234,5', '14.02.2026'],
    ['fr-FR', '1 045,32 £GB', '1 234,5', '14 févr. 2026'],
  ] as const) {
    const f = await formatsIn(language);
    assert.deepEqual([plain(f.money(1045.32, 'GBP')), plain(f.number(1234.5)), plain(f.day('2026-02-14'))], [money, number, day], language);
    assert.equal(f.plural(1, { one: 'one', other: 'many' }), 'one', 'the texts of the console are English');
  }
});

test('what is no date is shown by its list as it came', async () => {
  assert.equal((await formatsIn('en-GB')).day('soon'), '');
});
