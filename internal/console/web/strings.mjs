// Collects what the screens say. node strings.mjs writes strings/SCREEN.txt for each screen, and
// for the parts that several screens share, so that the words can be read in one sitting
// (docs/adr/0062-keep-the-words-of-the-console-in-its-source.md). They are edited in the source;
// `make generate` writes the lists again. words.test.ts holds them to the words of the field.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';

const source = join(import.meta.dirname, 'src');

// Attributes and members whose values are read by people.
const spoken = new Set([
  'about',
  'act',
  'aria-label',
  'alt',
  'children',
  'description',
  'detail',
  'empty',
  'error',
  'fix',
  'help',
  'hint',
  'label',
  'name',
  'note',
  'noun',
  'placeholder',
  'problem',
  'sub',
  'text',
  'title',
  'what',
]);

// screenOf is the screen that a file belongs to: screens/TriggerPage.tsx, screens/Triggers.tsx
// and what is below screens/triggers/ are one.
function screenOf(file) {
  const [area, first] = relative(source, file).split('/');
  if (area !== 'screens') return first ? area : 'app';
  const name = basename(first)
    .replace(/\.tsx?$/, '')
    .replace(/Page$|Rows$|List$|Picker$/, '')
    .toLowerCase();
  return plurals[name] ?? name;
}

const plurals = {
  agent: 'agents',
  addserver: 'servers',
  api: 'servers',
  app: 'apps',
  call: 'calls',
  chain: 'chains',
  chainagent: 'chains',
  chainagents: 'chains',
  deadletters: 'deliveries',
  delivery: 'deliveries',
  endpoint: 'endpoints',
  event: 'events',
  inputrequests: 'playground',
  key: 'keys',
  policy: 'policies',
  room: 'chat',
  server: 'servers',
  settings: 'settings',
  tool: 'tools',
  trigger: 'triggers',
  user: 'users',
};

const isText = (s) => /\p{L}/u.test(s);
const clean = (s) => s.replaceAll(/\s+/g, ' ').trim();

// pieces returns what an expression may say, with … for what is computed.
function pieces(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text + node.templateSpans.map((s) => `…${s.literal.text}`).join('')];
  if (ts.isConditionalExpression(node)) return [...pieces(node.whenTrue), ...pieces(node.whenFalse)];
  if (
    ts.isBinaryExpression(node) &&
    [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.AmpersandAmpersandToken].includes(
      node.operatorToken.kind,
    )
  )
    return [...pieces(node.left), ...pieces(node.right)].filter(isText);
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return pieces(node.expression);
  return [];
}

function collect(file, add) {
  const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  // sentence writes the children of an element as a person reads them.
  const sentence = (node) =>
    clean(
      node.children
        .map((c) => {
          if (ts.isJsxText(c)) return c.text;
          if (ts.isJsxExpression(c)) {
            const own = c.expression ? pieces(c.expression) : [];
            return own.length === 1 && ts.isStringLiteral(c.expression) ? own[0] : c.expression ? '…' : '';
          }
          if (ts.isJsxSelfClosingElement(c)) return '…';
          return ts.isJsxFragment(c) || ts.isJsxElement(c) ? ` ${sentence(c)} ` : '';
        })
        .join(''),
    );
  const visit = (node, within) => {
    if (ts.isJsxElement(node) || ts.isJsxFragment(node)) {
      const own =
        node.children.some((c) => ts.isJsxText(c) && isText(c.text)) ||
        node.children.some((c) => ts.isJsxExpression(c) && c.expression && pieces(c.expression).some(isText));
      if (own && !within) add(sentence(node));
      if (own)
        for (const c of node.children)
          if (ts.isJsxExpression(c) && c.expression && !ts.isStringLiteral(c.expression))
            for (const p of pieces(c.expression)) add(clean(p));
      if (ts.isJsxElement(node)) visit(node.openingElement, false);
      for (const c of node.children) visit(c, within || own);
      return;
    }
    if (ts.isJsxAttribute(node) && node.initializer && spoken.has(node.name.getText())) {
      const value = ts.isJsxExpression(node.initializer) ? node.initializer.expression : node.initializer;
      if (value) for (const p of pieces(value)) add(clean(p));
    }
    if (ts.isPropertyAssignment(node) && (ts.isIdentifier(node.name) || ts.isStringLiteral(node.name))) {
      const key = node.name.text;
      const words = pieces(node.initializer).filter((p) => spoken.has(key) || /^[A-Z].*[a-z]|\s/.test(p));
      if (!['className', 'class', 'style', 'href', 'path', 'Content-Type'].includes(key)) for (const p of words) add(clean(p));
    }
    // Tables of words: ['key', 'Label'].
    if (ts.isArrayLiteralExpression(node))
      for (const e of node.elements) for (const p of pieces(e)) if (/^[A-Z]\w|\s/.test(p)) add(clean(p));
    if (ts.isReturnStatement(node) && node.expression)
      for (const p of pieces(node.expression)) if (/^[A-Z][^/]*\s|\s\w+\s/.test(p)) add(clean(p));
    if (ts.isCallExpression(node) && /^(field|text|line)$/.test(node.expression.getText()))
      for (const a of node.arguments) for (const p of pieces(a)) if (/^[A-Z]/.test(p)) add(clean(p));
    if (ts.isCallExpression(node) && /^(Error|set[A-Z]\w*|problem|fail|toast|announce)$/.test(node.expression.getText()))
      for (const a of node.arguments) for (const p of pieces(a)) if (/\s/.test(p)) add(clean(p));
    ts.forEachChild(node, (n) => visit(n, false));
  };
  visit(tree, false);
}

function files(at) {
  return readdirSync(at, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? files(join(at, e.name)) : /\.tsx?$/.test(e.name) && !/\.test\.tsx?$|\.d\.ts$/.test(e.name) ? [join(at, e.name)] : [],
  );
}

// Lengths, paths and code are read by no person.
const noise = /^([\d.]+(rem|px|fr)?\s*)+$|=>|var\(--|^\(any-|system-ui|ui-monospace|minmax\(/;

// collectStrings returns what each screen says, by file.
export function collectStrings() {
  const screens = new Map();
  for (const file of files(source).sort()) {
    if (relative(source, file).startsWith('test/')) continue;
    const own = new Set();
    collect(file, (s) => s && isText(s) && s !== '…' && !noise.test(s) && own.add(s));
    if (own.size === 0) continue;
    const screen = screenOf(file);
    if (!screens.has(screen)) screens.set(screen, new Map());
    screens.get(screen).set(relative(source, file), own);
  }
  return screens;
}

if (process.argv[1] === import.meta.filename) {
  const folder = process.argv[2] ?? join(import.meta.dirname, 'strings');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [screen, list] of collectStrings())
    writeFileSync(join(folder, `${screen}.txt`), [...list].map(([file, own]) => `# ${file}\n${[...own].join('\n')}\n`).join('\n'));
}
