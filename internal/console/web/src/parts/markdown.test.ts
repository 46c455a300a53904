import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Block, markdown, mentions, type Span } from './markdown.ts';

const one = (text: string): Block => {
  const all = markdown(text);
  assert.equal(all.length, 1, JSON.stringify(all));
  return all[0] as Block;
};

// hrefs are all addresses that a tree leads to.
function hrefs(of: unknown): string[] {
  if (Array.isArray(of)) return of.flatMap(hrefs);
  if (typeof of !== 'object' || of === null) return [];
  const here = 'href' in of ? [String(of.href)] : [];
  return [...here, ...Object.values(of).flatMap(hrefs)];
}

test('what people write is read', () => {
  assert.deepEqual(one('Some **bold** and `code`'), {
    kind: 'paragraph',
    of: [
      { kind: 'text', text: 'Some ' },
      { kind: 'strong', of: [{ kind: 'text', text: 'bold' }] },
      { kind: 'text', text: ' and ' },
      { kind: 'code', text: 'code' },
    ],
  });
  assert.deepEqual(one('```go\nfunc main() {}\n```'), { kind: 'code', lang: 'go', text: 'func main() {}' });
  assert.deepEqual(one('a\nb'), { kind: 'paragraph', of: [{ kind: 'text', text: 'a' }, { kind: 'break' }, { kind: 'text', text: 'b' }] });
  const list = one('3. three\n4. four');
  assert.ok(list.kind === 'list' && list.start === 3 && list.items.length === 2);
  const tasks = one('- [x] done\n- [ ] open');
  assert.ok(tasks.kind === 'list');
  assert.deepEqual(
    tasks.items.map((i) => i.checked),
    [true, false],
  );
  const table = one('| a | b |\n|---|--:|\n| 1 | 2 |');
  assert.ok(table.kind === 'table' && table.rows.length === 1 && table.align[1] === 'right');
  assert.deepEqual(one('a &lt; b &amp;&#38; c &#xe9;'), { kind: 'paragraph', of: [{ kind: 'text', text: 'a < b && c é' }] });
});

test('a text that has not ended yet is read as far as it goes', () => {
  const whole = 'Look:\n\n```js\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| **1** | [x](https://a.example/) |\n';
  for (let i = 0; i <= whole.length; i++) assert.ok(Array.isArray(markdown(whole.slice(0, i))));
  assert.deepEqual(one('```js\nlet a'), { kind: 'code', lang: 'js', text: 'let a' });
});

test('HTML is text', () => {
  for (const text of [
    '<script>window.__xss=1</script>',
    '<img src=x onerror="window.__xss=1">',
    'a <b onclick="x()">b</b>',
    '<!-- c -->',
  ]) {
    const said = JSON.stringify(markdown(text));
    for (const word of text.split('"')) assert.ok(said.includes(JSON.stringify(word).slice(1, -1)), `${text}: ${said}`);
    assert.deepEqual(hrefs(markdown(text)), []);
  }
});

test('links lead to the web alone, and pictures are links', () => {
  for (const href of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc',
    '//evil.example',
    '/servers',
    'blob:null/x',
    '&#106;avascript:alert(1)',
  ])
    for (const text of [`[go](${href})`, `[go](<${href}>)`, `![go](${href})`, `[go][1]\n\n[1]: ${href}`, `<${href}>`])
      assert.deepEqual(hrefs(markdown(text)), [], text);
  assert.deepEqual(hrefs(markdown('[a](https://a.example/x) ![p](https://b.example/p.png) https://c.example')), [
    'https://a.example/x',
    'https://b.example/p.png',
    'https://c.example',
  ]);
});

test('absurd texts are read at once', () => {
  const begun = process.cpuUsage(); // a busy machine takes longer, not more
  for (const part of ['>', '> ', '[', '*', '_', '`', '- ', '![', '<', '| ', '&', '(', '**a ', '\n- a\n  ', '[a](', '~~', '\\', '#', '1. '])
    assert.ok(markdown(part.repeat(20_000)).length > 0, part);
  assert.ok(markdown('a'.repeat(1_000_000)).length === 1);
  const took = process.cpuUsage(begun).user / 1000;
  assert.ok(took < 60_000, `${took} ms of CPU time`);
});

test('a depth that nobody reads is text', () => {
  const deep = (of: unknown): number => (typeof of === 'object' && of !== null ? 1 + Math.max(0, ...Object.values(of).map(deep)) : 0);
  const text = Array.from({ length: 60 }, (_, i) => `${'  '.repeat(i)}- a`).join('\n');
  assert.ok(deep(markdown(text)) < 100);
});

test('who is named stands out, if they are here', () => {
  assert.deepEqual(mentions('@math and @nobody, mail a@math.example', ['math']), [
    { text: '@math', mention: true },
    { text: ' and @nobody, mail a@math.example', mention: false },
  ]);
  assert.deepEqual(
    mentions('(@all)', []).map((c) => c.text),
    ['(', '@all', ')'],
  );
  assert.deepEqual(mentions('', []), []);
});

const said = (s: Span[]): string => s.map((x) => ('of' in x ? said(x.of) : 'text' in x ? x.text : '\n')).join('');

test('no word is lost', () => {
  const text = 'One *two* ~~three~~ [four](https://a.example) `five` <six> \\*seven\\*';
  const block = one(text);
  assert.ok(block.kind === 'paragraph');
  for (const word of ['One', 'two', 'three', 'four', 'five', 'six', '*seven*']) assert.ok(said(block.of).includes(word), word);
});
