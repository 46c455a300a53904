import { Lexer, type MarkedToken, type Token } from 'marked';

// What a text in Markdown says, as a tree that has no place for anything but
// text and links to the web. The words of a model, and of everyone the model has
// read, are somebody else's: HTML in them is text, and pictures are links, since
// fetching one would tell its host who reads.

export type Span =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'strong' | 'em' | 'del'; of: Span[] }
  | { kind: 'link'; href: string; of: Span[] };

export type Block =
  | { kind: 'paragraph'; of: Span[] }
  | { kind: 'heading'; depth: number; of: Span[] }
  | { kind: 'code'; lang: string; text: string }
  | { kind: 'quote'; of: Block[] }
  | { kind: 'list'; start: number | undefined; items: { checked: boolean | undefined; of: Block[] }[] }
  | { kind: 'table'; align: (string | undefined)[]; head: Span[][]; rows: Span[][][] }
  | { kind: 'rule' };

const mostLength = 200_000;
const mostDepth = 16;

// markdown never fails: what cannot be read, or would take too long, is text.
export function markdown(text: string): Block[] {
  if (text.length > mostLength || nested(text)) return [plain(text)];
  try {
    return blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch {
    return [plain(text)];
  }
}

const plain = (text: string): Block => ({ kind: 'paragraph', of: [{ kind: 'text', text }] });

// nested says whether quotes or brackets stand in one another so deep that
// nobody wrote them to be read: a lexer takes very long for them.
const nested = (text: string): boolean => /(?:>[ \t]*){32}|(?:[[*_~(][ \t]*){200}|(?:(?:[-+*]|\d+[.)])[ \t]+){32}/.test(text);

function blocks(tokens: Token[], depth: number): Block[] {
  const all: Block[] = [];
  for (const raw of tokens) {
    const block = depth < mostDepth ? blockOf(raw, depth) : plain(raw.raw);
    if (block) all.push(block);
  }
  return all;
}

function blockOf(raw: Token, depth: number): Block | undefined {
  const t = raw as MarkedToken;
  switch (t.type) {
    case 'space':
    case 'def':
    case 'checkbox': // its list item says it
      return undefined;
    case 'heading':
      return { kind: 'heading', depth: t.depth, of: spans(t.tokens) };
    case 'code':
      return { kind: 'code', lang: (t.lang ?? '').split(/\s/)[0] ?? '', text: t.text };
    case 'blockquote':
      return { kind: 'quote', of: blocks(t.tokens, depth + 1) };
    case 'list':
      return {
        kind: 'list',
        start: t.ordered ? Number(t.start) || 0 : undefined,
        items: t.items.map((i) => ({ checked: i.task ? i.checked === true : undefined, of: blocks(i.tokens, depth + 1) })),
      };
    case 'table':
      return {
        kind: 'table',
        align: t.align.map((a) => a ?? undefined),
        head: t.header.map((c) => spans(c.tokens)),
        rows: t.rows.map((r) => r.map((c) => spans(c.tokens))),
      };
    case 'hr':
      return { kind: 'rule' };
    case 'paragraph':
      return { kind: 'paragraph', of: spans(t.tokens) };
    case 'text':
      return { kind: 'paragraph', of: t.tokens ? spans(t.tokens) : [{ kind: 'text', text: decode(t.text) }] };
    default:
      return plain(raw.raw.trimEnd());
  }
}

function spans(tokens: Token[], depth = 0): Span[] {
  const all: Span[] = [];
  for (const raw of tokens) {
    const span = depth < mostDepth ? spanOf(raw, depth + 1) : { kind: 'text' as const, text: raw.raw };
    if (!span) continue;
    const last = all.at(-1);
    if (span.kind === 'text' && last?.kind === 'text') last.text += span.text;
    else all.push(span);
  }
  return all;
}

function spanOf(raw: Token, depth: number): Span | undefined {
  const t = raw as MarkedToken;
  switch (t.type) {
    case 'strong':
    case 'em':
    case 'del':
      return { kind: t.type, of: spans(t.tokens, depth) };
    case 'codespan':
      return { kind: 'code', text: t.text };
    case 'br':
      return { kind: 'break' };
    case 'link':
      return link(t.href, spans(t.tokens, depth));
    case 'image':
      return link(t.href, [{ kind: 'text', text: t.text || t.href }]);
    case 'escape':
      return { kind: 'text', text: t.text };
    case 'text':
      return { kind: 'text', text: decode(t.text) };
    case 'checkbox':
      return undefined;
    default:
      return { kind: 'text', text: raw.raw };
  }
}

// link leads to the web, or is the text that it has.
function link(href: string, of: Span[]): Span {
  if (/^https?:\/\/[^\s]/i.test(href)) return { kind: 'link', href, of };
  const said: Span[] = of.length > 0 ? of : [{ kind: 'text', text: href }];
  return said.length === 1 && said[0] ? said[0] : { kind: 'em', of: said };
}

const names: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
};

// decode reads the character references that people write.
function decode(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,8}));/g, (all, ten?: string, sixteen?: string, name?: string) => {
    if (name) return names[name] ?? all;
    const code = ten ? Number.parseInt(ten, 10) : Number.parseInt(sixteen ?? '', 16);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : all;
  });
}

export type Cut = { text: string; mention: boolean };

// mentions cuts a text where it names somebody of the room.
export function mentions(text: string, members: readonly string[]): Cut[] {
  const known = new Set([...members, 'all']);
  const all: Cut[] = [];
  let from = 0;
  for (const m of text.matchAll(/(^|[^\w@])@([a-z][a-z0-9-]{0,31})/g)) {
    if (!known.has(m[2] ?? '')) continue;
    const at = m.index + (m[1]?.length ?? 0);
    if (at > from) all.push({ text: text.slice(from, at), mention: false });
    from = m.index + m[0].length;
    all.push({ text: text.slice(at, from), mention: true });
  }
  if (from < text.length) all.push({ text: text.slice(from), mention: false });
  return all;
}
