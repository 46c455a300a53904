import { text } from './edits.ts';

// What an administrative change did to its object, field by field.

export interface ValueChange {
  field: string; // of nested objects, with dots
  before: unknown; // undefined: it was not there
  after: unknown; // undefined: it is not there any more
}

// Fields that each change sets, so that they say nothing about it.
const kept = new Set(['created_at', 'updated_at', 'updated_by']);

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);

// fieldsOf are the values of an object by their paths. A list with one object is read as
// that object: some records hold all objects that the change touched.
function fieldsOf(value: unknown, path = ''): Map<string, unknown> {
  const v = Array.isArray(value) && value.length === 1 && isObject(value[0]) ? value[0] : value;
  const out = new Map<string, unknown>();
  if (!isObject(v)) {
    if (v !== undefined && v !== null && !(Array.isArray(v) && v.length === 0)) out.set(path || 'value', v);
    return out;
  }
  for (const [name, member] of Object.entries(v)) {
    if (!path && kept.has(name)) continue;
    for (const [at, leaf] of fieldsOf(member, path ? `${path}.${name}` : name)) out.set(at, leaf);
  }
  return out;
}

// valueChanges are the fields that differ.
export function valueChanges(before: unknown, after: unknown): ValueChange[] {
  const a = fieldsOf(before);
  const b = fieldsOf(after);
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((field) => text(a.get(field)) !== text(b.get(field)))
    .map((field) => ({ field, before: a.get(field), after: b.get(field) }));
}

// written is a value as people read it: texts without quotes, lists of texts one in a line.
export function written(v: unknown): string {
  if (typeof v === 'string') return v === '' ? '""' : v;
  if (Array.isArray(v) && v.every((x) => typeof x === 'string')) return v.join('\n');
  return JSON.stringify(v, null, 1) ?? '';
}

const verbs: Record<string, string> = {
  add: 'Added',
  approve: 'Approved',
  change: 'Changed',
  create: 'Created',
  delete: 'Deleted',
  disable: 'Disabled',
  enable: 'Enabled',
  finish: 'Completed',
  grant: 'Granted',
  import: 'Imported',
  patch: 'Changed',
  put: 'Set',
  reject: 'Rejected',
  replace: 'Replaced',
  replay: 'Replayed',
  revoke: 'Revoked',
  rewind: 'Rewound',
  rotate: 'Rotated',
  run: 'Ran',
  set: 'Set',
  start: 'Started',
  stop: 'Stopped',
};

// actionName is what an action did, as a sentence begins: patch-server is "Changed server".
export function actionName(action: string): string {
  const [verb = '', ...object] = action.split('-');
  return [verbs[verb] ?? verb, ...object].join(' ');
}

export const changeEntryNames: Record<string, string> = {
  api: 'API',
  cli: 'CLI',
  console: 'Console',
  'settings-file': 'Settings file',
  start: 'Start of the instance',
};

// changedObjects are the kinds of objects that records of changes name.
export const changedObjects = [
  'agent',
  'agent-endpoint',
  'app',
  'approval',
  'chain',
  'component-catalog',
  'consent',
  'credential',
  'deliveries',
  'endpoint',
  'event',
  'key',
  'limits',
  'login',
  'model',
  'policies',
  'policy',
  'role',
  'room',
  'schedule',
  'secret',
  'secrets',
  'server',
  'server-login',
  'settings',
  'source',
  'tenant',
  'tool',
  'trigger',
  'user',
];

// nameOf is the name of an object for people, as its values have it.
export function nameOf(value: unknown): string | undefined {
  const v = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (!isObject(v)) return undefined;
  return [v.title, v.name].find((n): n is string => typeof n === 'string' && n !== '');
}

const pages: Record<string, string> = {
  agent: '/agents/',
  app: '/apps/',
  event: '/events/',
  key: '/keys/',
  policy: '/policies/',
  room: '/chat/',
  server: '/servers/',
  tool: '/tools/',
  trigger: '/triggers/',
  user: '/users/',
};

// pageOf is the page of a changed object, if it has one.
export const pageOf = (object: string, id: string | undefined): string | undefined =>
  id && pages[object] ? pages[object] + encodeURIComponent(id) : undefined;
