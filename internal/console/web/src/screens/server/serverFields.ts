import type { Schemas, Server } from '../../api/client';
import forms from '../../api/forms.json' with { type: 'json' };
import { joinCommand, parseEnv, splitCommand } from '../../parts/command.ts';
import { authNames, authOf, type Draft, lines, parseHeaders, parseLines, ruleLines } from '../../parts/connection.ts';
import { check, kindOf, type Schema, type Wrong } from '../../parts/schema.ts';

// A server as it stands in the fields of its form, and back. The fields are those of the
// API: what is said here of some of them is how they are written and where they stand. A
// field that is not named here has the name, description and values of its schema, and
// stands among the advanced ones.

export type ServerPatch = Omit<Schemas['ServerPatchBody'], '$schema'>;
export type ServerKind = 'url' | 'command' | 'generated';
export type ServerFields = { auth: Draft } & Record<string, unknown>;

export const isGenerated = (s: Pick<Server, 'mode'>): boolean => s.mode === 'auto-generated';
export const isCommand = (s: Pick<Server, 'transport'>): boolean => s.transport === 'stdio';
export const serverKind = (s: Pick<Server, 'mode' | 'transport'>): ServerKind =>
  isGenerated(s) ? 'generated' : isCommand(s) ? 'command' : 'url';

export interface ServerField {
  label: string;
  labels?: Partial<Record<ServerKind, string>>; // where another one says more
  description?: string; // in place of that of the schema; '' is none
  kinds?: ServerKind[]; // of servers that have the field; by default all
  empty?: string; // the word that the empty value stands for
  words?: Record<string, string>; // what its words are called
  omit?: string[]; // words that cannot be chosen
  admin?: true; // only admins can set it
  code?: true; // it is written in the font of code
}

const some: ServerKind[] = ['url', 'command'];
const known: Record<string, ServerField> = {
  transport: {
    label: 'Transport',
    description: '',
    kinds: ['url'],
    empty: 'http',
    words: { http: 'Streamable HTTP', sse: 'HTTP+SSE (2024-11-05)' },
    omit: ['stdio'],
  },
  url: {
    label: 'URL',
    labels: { generated: 'Base URL of the API' },
    description: 'Its query is stored encrypted, like a credential.',
    kinds: ['url', 'generated'],
    code: true,
  },
  command: { label: 'Command', kinds: ['command'], code: true },
  cwd: { label: 'Working directory', description: '', kinds: ['command'], code: true },
  env: { label: 'Environment', kinds: ['command'], code: true },
  auth: { label: 'Authentication', kinds: ['url', 'generated'] },
  headers: { label: 'Headers', kinds: ['url', 'generated'], code: true },
  title: { label: 'Title' },
  private: { label: 'Private: visible only to its owner', description: '' },
  credentials: {
    label: 'Credentials for calls',
    description: '',
    kinds: ['url', 'generated'],
    empty: 'shared',
    words: { shared: 'credentials of the server', 'per-user': 'credentials of each user' },
  },
  isolation: {
    label: 'Isolation',
    description: '',
    kinds: some,
    empty: 'shared',
    words: { shared: 'shared by all callers', session: 'one connection per client session', user: 'one connection per caller' },
  },
  home: {
    label: 'Replicas',
    description: '',
    kinds: ['command'],
    empty: 'each',
    words: { each: 'runs on each replica that needs it', one: 'runs on one replica for all' },
  },
  exposure: {
    label: 'Tool listing',
    description: '',
    empty: 'auto',
    words: {
      auto: 'Auto: all, or by search if there are many',
      all: 'all',
      search: 'by search: three tools search, describe and call the others',
    },
  },
  include: {
    label: 'Operations',
    description:
      'One rule per line; the first match decides: GET, /pets/**, tag:pets, op:list*, deprecated. A leading ! excludes. Without rules, all operations except deprecated ones.',
    code: true,
  },
  mutations: {
    label: 'GraphQL mutations',
    description: '',
    words: { none: 'none', explicit: 'those that a rule selects', all: 'all' },
  },
  document_url: { label: 'URL of the documentation', description: '', code: true },
  poll_minutes: {
    label: 'Check interval in minutes',
    description: 'Junctor applies changes automatically. Breaking changes wait for approval. 0 disables the check.',
  },
  rate: { label: 'Requests per second', description: '0 means no limit.' },
  max_sessions: {
    label: 'Maximum connections or processes',
    labels: { url: 'Maximum connections', command: 'Maximum processes' },
    kinds: some,
  },
  call_timeout: { label: 'Call timeout' },
  call_timeout_max: { label: 'Total call timeout' },
  believe_annotations: { label: 'Believe annotations', admin: true },
  // Of a tool.
  read_only: { label: 'Read-only', admin: true },
  destructive: { label: 'Destructive', admin: true },
  idempotent: { label: 'Idempotent', admin: true },
  open_world: { label: 'Reaches outside', admin: true },
  tags: { label: 'Tags for rules', admin: true },
};

// Fields that stand elsewhere on the page, or that follow from the document.
const elsewhere = ['state', 'views', 'overrides', 'format'];

const ofServer = forms.server.properties as Record<string, Schema>;
const ofAPI = forms.api.properties as Record<string, Schema>;
const schemas = { ...ofServer, ...ofAPI };
const names = Object.keys(schemas).filter((name) => !elsewhere.includes(name));

export const schemaOf = (name: string): Schema => schemas[name] ?? {};
export const fieldOf = (name: string): ServerField => known[name] ?? { label: humanize(name) };

// labels name the fields in the dialog that shows a conflict.
export const labels: Record<string, string> = Object.fromEntries(names.map((name) => [name, fieldOf(name).label]));

// humanize makes a label of the name of a field.
function humanize(name: string): string {
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// hasField says whether a kind of server has a field.
const hasField = (kind: ServerKind, name: string): boolean =>
  names.includes(name) && (kind === 'generated' || !(name in ofAPI)) && (fieldOf(name).kinds?.includes(kind) ?? true);

const groups = {
  connection: ['transport', 'url', 'command', 'cwd', 'env', 'auth', 'headers'],
  use: ['title', 'private', 'credentials', 'isolation', 'home', 'exposure', 'include', 'mutations', 'document_url', 'poll_minutes'],
};
export type ServerGroup = keyof typeof groups | 'advanced';

// fieldsIn lists the fields of a group, in the order in which they are shown: first those
// that are named above.
export function fieldsIn(group: ServerGroup, kind: ServerKind): string[] {
  const grouped = Object.values(groups).flat();
  const order = Object.keys(known);
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const all = group === 'advanced' ? names.filter((n) => !grouped.includes(n)).sort((a, b) => place(a) - place(b)) : groups[group];
  return all.filter((name) => hasField(kind, name));
}

// How a value is written in a field.
interface Writing {
  type: 'string' | 'lines' | 'number' | 'boolean' | 'value';
  hint?: string; // how to write it
  shown: (value: unknown) => unknown;
  value: (shown: unknown) => unknown;
  problem?: (shown: unknown) => string | undefined;
}

type Map = Record<string, string> | undefined;
const words: Writing = {
  type: 'string',
  shown: (v) => joinCommand((v as string[] | undefined) ?? []),
  value: (v) => splitCommand(String(v)).words,
  problem: (v) => splitCommand(String(v)).problem,
};
const map = (between: string, hint: string, parse: (text: string) => { values: Record<string, string>; problem?: string }): Writing => ({
  type: 'lines',
  hint,
  shown: (v) => lines(v as Map, between),
  value: (v) => parse(String(v)).values,
  problem: (v) => parse(String(v)).problem,
});
const ownWritings: Record<string, Writing> = {
  command: words,
  env: map('=', 'One NAME=value per line.', (text) => {
    const { env, problem } = parseEnv(text);
    return { values: env, problem };
  }),
  headers: map(': ', 'One “Name: value” per line.', (text) => {
    const { headers, problem } = parseHeaders(text);
    return { values: headers, problem };
  }),
  auth: { type: 'value', shown: (v) => ({ ...((v as Draft | undefined) ?? { type: 'none' }) }), value: (v) => authOf(v as Draft) },
};

// writingOf says how a field is written, by what its schema lets it be.
function writingOf(name: string): Writing {
  const schema = schemaOf(name);
  const own = ownWritings[name];
  if (own) return own;
  switch (kindOf(schema)) {
    case 'string':
    case 'choice':
      return { type: 'string', shown: (v) => v || (fieldOf(name).empty ?? ''), value: (v) => String(v).trim() };
    case 'number':
    case 'integer':
      return { type: 'number', shown: (v) => v ?? 0, value: (v) => Number(v) || 0 };
    case 'boolean':
      return { type: 'boolean', shown: (v) => v ?? false, value: (v) => v === true };
    case 'array':
      if (schema.items?.type === 'string')
        return {
          type: 'lines',
          shown: (v) => ((v as string[] | undefined) ?? []).join('\n'),
          value: (v) => ruleLines(String(v)),
        };
      break;
    case 'object':
      if (isSchema(schema.additionalProperties) && schema.additionalProperties.type === 'string')
        return map('=', 'One name=value per line.', parseLines);
  }
  return { type: 'value', shown: (v) => v, value: (v) => v };
}

const isSchema = (v: unknown): v is Schema => typeof v === 'object' && v !== null;

// shownSchema is what a form draws for a field: the schema of the API, with a text where
// it is written as one.
export function shownSchema(name: string, stored: unknown): Schema {
  const schema = schemaOf(name);
  const field = fieldOf(name);
  const writing = writingOf(name);
  const description = [writing.hint, field.description ?? schema.description].filter(Boolean).join(' ');
  if (writing.type === 'lines') return { type: 'string', format: 'textarea', description };
  if (writing === words) return { type: 'string', description };
  if (!schema.enum) return { ...schema, maxLength: undefined, description };
  const values = (schema.enum as string[]).filter((word) => !field.omit?.includes(word));
  return {
    description,
    // The API has no word for “not set”: what was set stays set.
    oneOf: [
      ...(field.empty || stored ? [] : [{ const: '', title: 'default' }]),
      ...values.map((word) => ({ const: word, title: field.words?.[word] ?? word })),
    ],
  };
}

const storedValue = (s: Server, name: string): unknown =>
  (name in ofServer ? (s as Record<string, unknown>)[name] : (s.api as Record<string, unknown> | undefined)?.[name]) ?? undefined;

// fieldsOf are the fields of a stored server.
export const fieldsOf = (s: Server): ServerFields =>
  Object.fromEntries(names.map((name) => [name, writingOf(name).shown(storedValue(s, name))])) as ServerFields;

// emptyShown is what a field shows while nothing is set.
export const emptyShown = (name: string): unknown => writingOf(name).shown(undefined);

// changedFields are the fields that have another value than a stored server.
function changedFields(fields: ServerFields, s: Server): string[] {
  const stored = fieldsOf(s);
  const value = (name: string, from: ServerFields) => JSON.stringify(writingOf(name).value(from[name]));
  return names.filter((name) => hasField(serverKind(s), name) && value(name, fields) !== value(name, stored));
}

// patchOf is what the fields change of a stored server. A field that its kind does not
// have keeps its stored value.
export function patchOf(fields: ServerFields, s: Server): ServerPatch {
  const member = (name: string) => (name === 'url' && isGenerated(s) ? 'base_url' : name);
  return Object.fromEntries(changedFields(fields, s).map((name) => [member(name), writingOf(name).value(fields[name])])) as ServerPatch;
}

// wrongFields says what is wrong with the fields. A stored value is not judged.
export function wrongFields(fields: ServerFields, s: Server): Wrong[] {
  const changed = changedFields(fields, s);
  return names.flatMap((name): Wrong[] => {
    if (!hasField(serverKind(s), name)) return [];
    const writing = writingOf(name);
    const problem = writing.problem?.(fields[name]);
    if (problem) return [{ pointer: `/${name}`, message: problem }];
    if (name === 'auth' || !changed.includes(name)) return [];
    return check(writing.value(fields[name]), schemaOf(name), schemaOf(name), `/${name}`);
  });
}

// writtenValue is a value in the dialog of a conflict that the dialog cannot write itself.
export function writtenValue(name: string, value: unknown): string | undefined {
  if (name === 'auth') return authNames[(value as Draft).type];
  return fieldOf(name).words?.[String(value)];
}
