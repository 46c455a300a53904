import type { PolicyProblem } from '../api/policies';

// What an editor of conditions knows about CEL: what can be written at a place, and where in
// the text a problem is.

// Member is a variable, or a part of one.
export interface Member {
  name: string;
  type: 'text' | 'integer' | 'number' | 'boolean' | 'list' | 'object' | 'time' | 'any';
  about?: string;
  members?: Member[];
}

export interface Completion {
  label: string;
  insert: string;
  back: number; // characters before the end of what was inserted, where the caret comes to stand
  type: string;
  about: string;
}

export interface Completions {
  from: number; // the text from here is replaced
  to: number;
  options: Completion[];
}

const text = (name: string, about: string): Member => ({ name, type: 'text', about });
const flag = (name: string, about: string): Member => ({ name, type: 'boolean', about });

const principal: Member[] = [
  text('user', 'name of the user, also of the one that an agent or program calls for'),
  text('agent', 'name of the agent; empty for users'),
  text('role', 'role of the agent, or else of the user'),
  { name: 'groups', type: 'list', about: 'groups of the user at the identity provider' },
  text('tenant', 'tenant of the caller'),
  text('key', 'ID of the key'),
  text('client', 'program that calls for the user'),
];

const tool: Member[] = [
  text('server', 'ID of the server'),
  text('name', 'name of the tool at the server'),
  flag('read_only', 'the tool changes nothing'),
  flag('destructive', 'the tool may delete or overwrite'),
  flag('idempotent', 'repeating a call changes nothing more'),
  flag('open_world', 'the tool reaches systems outside'),
  { name: 'tags', type: 'list', about: 'tags that an admin gave the tool' },
  text('digest', 'digest of the definition'),
];

const request: Member[] = [
  text('entry_point', 'how the call came in, such as mcp'),
  text('address', 'address of the client'),
  { name: 'time', type: 'time', about: 'when the call is made' },
];

// variables are what a condition can read, for a phase and the arguments of the tools.
export const variables = (phase: 'call' | 'result', args: Member[]): Member[] => [
  { name: 'args', type: 'object', about: 'arguments of the call', members: args },
  { name: 'principal', type: 'object', about: 'who calls', members: principal },
  { name: 'tool', type: 'object', about: 'which tool is called', members: tool },
  { name: 'request', type: 'object', about: 'how and when the call is made', members: request },
  ...(phase === 'result' ? [{ name: 'result', type: 'any', about: 'the result of the call' } as const] : []),
];

interface Func {
  name: string;
  form: string;
  insert: string;
  back: number;
  about: string;
}

const functions: Func[] = [
  { name: 'has', form: 'has(args.name)', insert: 'has()', back: 1, about: 'the call has this argument' },
  { name: 'glob', form: 'glob(value, pattern)', insert: 'glob(, "")', back: 5, about: 'the value matches a pattern with *' },
  { name: 'below', form: 'below(path, folder)', insert: 'below(, "/")', back: 6, about: 'the path is below the folder' },
  { name: 'cidr', form: 'cidr(address, network)', insert: 'cidr(request.address, "")', back: 2, about: 'the address is in the network' },
  { name: 'domain', form: 'domain(url)', insert: 'domain()', back: 1, about: 'host of the URL, in lower case' },
  {
    name: 'hours',
    form: 'hours(days, zone)',
    insert: 'hours("Mon-Fri 08:00-18:00", "Europe/London")',
    back: 0,
    about: 'the call is made in these hours',
  },
  { name: 'size', form: 'size(value)', insert: 'size()', back: 1, about: 'number of characters, items or members' },
];

const method = (name: string, form: string, about: string, quoted = true): Func => ({
  name,
  form,
  insert: quoted ? `${name}("")` : `${name}()`,
  back: quoted ? 2 : form.endsWith('()') ? 0 : 1,
  about,
});

const textMethods: Func[] = [
  method('contains', 'contains(text)', 'the text contains another'),
  method('startsWith', 'startsWith(text)', 'the text starts with another'),
  method('endsWith', 'endsWith(text)', 'the text ends with another'),
  method('matches', 'matches(pattern)', 'a regular expression (RE2) matches a part'),
  method('size', 'size()', 'number of characters', false),
];

const listMethods: Func[] = [
  { name: 'exists', form: 'exists(x, condition)', insert: 'exists(x, )', back: 1, about: 'the condition is true of some item x' },
  { name: 'all', form: 'all(x, condition)', insert: 'all(x, )', back: 1, about: 'the condition is true of every item x' },
  method('size', 'size()', 'number of items', false),
];

const timeMethods: Func[] = [
  method('getHours', 'getHours(zone)', 'hour of the day, from 0'),
  method('getDayOfWeek', 'getDayOfWeek(zone)', 'day of the week; 0 is Sunday'),
];

const methodsOf = (type: Member['type']): Func[] =>
  type === 'text'
    ? textMethods
    : type === 'list'
      ? listMethods
      : type === 'time'
        ? timeMethods
        : type === 'any'
          ? [...textMethods, ...listMethods]
          : [];

// isInText reports whether a place is inside a quoted text or a comment.
export function isInText(condition: string, at: number): boolean {
  let quote = '';
  for (let i = 0; i < at; i++) {
    const c = condition[i] as string;
    if (quote) {
      if (c === '\\') i++;
      else if (c === quote) quote = '';
    } else if (c === '"' || c === "'") quote = c;
    else if (c === '/' && condition[i + 1] === '/') {
      const end = condition.indexOf('\n', i);
      if (end < 0 || end >= at) return true;
      i = end;
    }
  }
  return quote !== '';
}

const ofFunc = (f: Func): Completion => ({ label: f.form, insert: f.insert, back: f.back, type: '', about: f.about });
const ofMember = (m: Member): Completion => ({
  label: m.name,
  insert: m.name,
  back: 0,
  type: m.type === 'any' ? '' : m.type,
  about: m.about ?? '',
});

// completionsAt is what can be written at a place. Unless it was asked for, nothing is offered
// where no word begins.
export function completionsAt(condition: string, at: number, known: Member[], asked = false): Completions | undefined {
  if (isInText(condition, at)) return undefined;
  const before = condition.slice(0, at);
  const [, path = '', word = ''] = /((?:[A-Za-z_]\w*(?:\[\d+\])?\s*\.\s*)+|\)\s*\.\s*)?([A-Za-z_]\w*)?$/.exec(before) ?? [];
  if (!asked && path === '' && word === '') return undefined;
  if (/[\w\]]$/.test(before.slice(0, before.length - word.length)) && path === '') return undefined; // such as 5x
  const to = at + (/^\w*/.exec(condition.slice(at))?.[0].length ?? 0);
  const all: { name: string; one: Completion }[] = [];
  if (path === '') {
    all.push(...known.map((m) => ({ name: m.name, one: ofMember(m) })), ...functions.map((f) => ({ name: f.name, one: ofFunc(f) })));
    for (const name of ['true', 'false']) all.push({ name, one: { label: name, insert: name, back: 0, type: 'boolean', about: '' } });
  } else {
    const of = path.startsWith(')') ? ({ name: '', type: 'any' } as Member) : locate(known, path);
    if (!of) return undefined;
    all.push(...(of.members ?? []).map((m) => ({ name: m.name, one: ofMember(m) })));
    all.push(...methodsOf(of.type).map((f) => ({ name: f.name, one: ofFunc(f) })));
  }
  const wanted = word.toLowerCase();
  const fits = [
    ...all.filter((o) => o.name.toLowerCase().startsWith(wanted)),
    ...all.filter((o) => wanted !== '' && o.name.toLowerCase().indexOf(wanted) > 0),
  ];
  // A word that is complete is not offered again.
  if (!asked && fits.length === 1 && fits[0]?.one.insert === word && condition.slice(at, to) === '') return undefined;
  // What is called already needs no second pair of parentheses.
  const called = condition[to] === '(';
  const options = fits.map(({ name, one }) => (called && one.insert.includes('(') ? { ...one, insert: name, back: 0 } : one));
  return options.length > 0 ? { from: at - word.length, to, options } : undefined;
}

// locate finds what a path such as args.filter. leads to.
function locate(known: Member[], path: string): Member | undefined {
  let members: Member[] | undefined = known;
  let found: Member | undefined;
  for (const raw of path.split('.').slice(0, -1)) {
    const name = raw.trim().replace(/\[\d+\]$/, '');
    found = members?.find((m) => m.name === name);
    if (!found) return { name, type: 'any' }; // such as the x of exists(x, …)
    if (/\]\s*$/.test(raw)) found = { name, type: 'any' };
    members = found.members;
  }
  return found;
}

interface SchemaNode {
  type?: string | string[];
  $ref?: string;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  description?: string;
}

const types: Record<string, Member['type']> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  array: 'list',
  object: 'object',
};

const deepest = 4;

// argumentsOf are the arguments of tools, from their schemas. One that not all of them have, or
// that calls may leave out, says so: a condition has to ask has() for it.
export function argumentsOf(schemas: readonly unknown[]): Member[] {
  const roots = schemas.map((s) => (s ?? {}) as SchemaNode & { $defs?: unknown });
  return mergeMembers(
    roots.map((root) => ({ root, node: root })),
    0,
  );
}

function mergeMembers(nodes: { root: SchemaNode; node: SchemaNode }[], depth: number): Member[] {
  const names = new Set(nodes.flatMap(({ root, node }) => Object.keys(follow(root, node).properties ?? {})));
  const out: Member[] = [];
  for (const name of names) {
    if (!/^[A-Za-z_]\w*$/.test(name)) continue;
    const having = nodes.flatMap(({ root, node }) => {
      const owner = follow(root, node);
      const own = owner.properties?.[name];
      return own ? [{ root, node: follow(root, own), always: owner.required?.includes(name) ?? false }] : [];
    });
    const kinds = new Set(having.map(({ node }) => types[[node.type].flat()[0] ?? ''] ?? 'any'));
    const type = kinds.size === 1 ? ([...kinds][0] as Member['type']) : 'any';
    const notes = [
      having.length < nodes.length && `in ${having.length} of ${nodes.length} tools`,
      having.some((h) => !h.always) && 'optional: ask has() first',
      having.find((h) => h.node.description)?.node.description,
    ];
    const members = type === 'object' && depth < deepest ? mergeMembers(having, depth + 1) : [];
    out.push({ name, type, about: notes.filter(Boolean).join('; '), ...(members.length > 0 ? { members } : {}) });
  }
  return out;
}

// follow resolves a reference within a schema.
function follow(root: SchemaNode, node: SchemaNode): SchemaNode {
  if (node.$ref === '#') return root;
  if (!node.$ref?.startsWith('#/')) return node;
  let at: unknown = root;
  for (const part of node.$ref.slice(2).split('/'))
    at = (at as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  return (at as SchemaNode | undefined) ?? {};
}

// offsetOf is the place of a line and a column, which count characters from 1.
export function offsetOf(condition: string, line: number, column: number): number {
  let start = 0;
  for (let n = 1; n < line; n++) {
    const end = condition.indexOf('\n', start);
    if (end < 0) return condition.length;
    start = end + 1;
  }
  const own = [...(condition.slice(start).split('\n')[0] ?? '')];
  return start + own.slice(0, column - 1).join('').length;
}

export interface Mark {
  from: number;
  to: number;
}

// namedIn is the name that a message is about.
const namedIn = (message: string): string =>
  /(?:field|reference to) '([^']+)'/.exec(message)?.[1] ?? /\b(args(?:\.\w+)+)/.exec(message)?.[1] ?? '';

// markOf is the part of the condition that a problem is about.
export function markOf(condition: string, p: Pick<PolicyProblem, 'line' | 'column' | 'message'>): Mark {
  const at = Math.min(offsetOf(condition, p.line ?? 1, p.column ?? 1), condition.length);
  const name = namedIn(p.message);
  if (name) {
    // The place is that of the name, of the dot before it, or of what the dot follows.
    let best = -1;
    for (let i = condition.indexOf(name); i >= 0; i = condition.indexOf(name, i + 1))
      if (!/\w/.test(condition[i + name.length] ?? '') && (best < 0 || Math.abs(i - at) < Math.abs(best - at))) best = i;
    if (best >= 0) return { from: best, to: best + name.length };
  }
  const token = /^(?:[A-Za-z_]\w*|\d[\d.]*|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[=!<>]=|&&|\|\||\S)/.exec(condition.slice(at))?.[0];
  // The end of the text is marked at its last character.
  return token
    ? { from: at, to: at + token.length }
    : { from: Math.max(0, Math.min(at, condition.trimEnd().length) - 1), to: Math.max(1, Math.min(at, condition.trimEnd().length)) };
}

// fixOf is what the suggestion of a problem makes of the condition, if it can be applied.
export function fixOf(
  condition: string,
  p: Pick<PolicyProblem, 'line' | 'column' | 'message' | 'suggestion'>,
): { name: string; text: string } | undefined {
  const meant = /^did you mean (\w+)\?$/.exec(p.suggestion ?? '')?.[1];
  if (meant) {
    const mark = markOf(condition, p);
    const own = condition.slice(mark.from, mark.to);
    const last = own.slice(own.lastIndexOf('.') + 1);
    if (!/^\w+$/.test(last)) return undefined;
    return { name: `Use ${meant}`, text: condition.slice(0, mark.to - last.length) + meant + condition.slice(mark.to) };
  }
  const asked = /^write (has\(args[\w.]*\)) && …$/.exec(p.suggestion ?? '')?.[1];
  if (asked && !/\|\||\?/.test(condition)) return { name: `Add ${asked}`, text: `${asked} && ${condition.trimStart()}` };
  return undefined;
}

// partsOf cuts the condition where marks begin and end.
export function partsOf(condition: string, marks: readonly Mark[]): { text: string; from: number; marked: boolean }[] {
  const cuts = [...new Set([0, condition.length, ...marks.flatMap((m) => [m.from, m.to])])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((from, i) => ({
    text: condition.slice(from, cuts[i + 1]),
    from,
    marked: marks.some((m) => m.from <= from && from < m.to),
  }));
}
