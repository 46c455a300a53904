import type { Trigger } from '../api/events';
import { parseJSON } from './parseJSON.ts';

// A trigger as it stands in the fields of its editor, and back.

export type To = 'server' | 'agent' | 'resolve';

export interface Clause {
  field: string;
  op: string;
  value: string;
}

export interface Draft {
  name: string;
  title: string;
  source: string;
  type: string;
  agent: string;
  tags: string;
  min: string;
  max: string;
  where: Clause[];
  to: To;
  target: string;
  tool: string;
  template: string;
  batch: string;
  wait: string; // seconds
  timeout: string; // seconds
  attempts: string;
  skip: string; // failures after which those behind pass it
  order: string; // key of the line; '' is the agent's
  tries: string; // to get the file
  retry: boolean;
  sign: boolean;
  raise: boolean;
  file: boolean;
  verify: boolean;
}

export const operators = ['=', '!=', '<', '<=', '>', '>=', 'in', 'contains', 'starts', 'exists'];

const shown = (n: number | undefined, unit = 1): string => (n ? String(n / unit) : '');

export function draftOf(t: Partial<Pick<Trigger, 'name' | 'title' | 'match' | 'action'>>): Draft {
  const m = t.match ?? {};
  const a = t.action ?? { tool: '' };
  const to: To = a.resolve ? 'resolve' : a.agent ? 'agent' : 'server';
  return {
    name: t.name ?? '',
    title: t.title ?? '',
    source: m.source ?? '',
    type: m.type ?? '',
    agent: m.agent ?? '',
    tags: (m.tags ?? []).join(', '),
    min: m.min_value === undefined ? '' : String(m.min_value),
    max: m.max_value === undefined ? '' : String(m.max_value),
    where: (m.where ?? []).map((c) => ({ field: c.field, op: c.op, value: writeValue(c.value) })),
    to,
    target: a[to] ?? '',
    tool: a.tool,
    template: JSON.stringify(a.template ?? {}, null, 2),
    batch: shown(a.batch),
    wait: shown(a.batch_wait_ms, 1000),
    timeout: shown(a.timeout_ms, 1000),
    attempts: shown(a.attempts),
    skip: shown(a.skip_after),
    order: a.order_key ?? '',
    tries: shown(a.file_attempts),
    retry: a.retry_errors ?? false,
    sign: a.sign ?? false,
    raise: a.raise ?? false,
    file: a.include_file_content ?? false,
    verify: a.verify_file_hash ?? false,
  };
}

// writeValue and readValue: a text needs no quotes, unless it would be read as
// something else.
function writeValue(v: unknown): string {
  if (v === undefined || v === null) return '';
  if (typeof v !== 'string') return JSON.stringify(v);
  return v === '' || parseJSON(v).problem === undefined ? JSON.stringify(v) : v;
}
export function readValue(text: string): unknown {
  const read = parseJSON(text);
  return read.problem === undefined ? read.value : text;
}

const number = (text: string, unit = 1): number | undefined => (text.trim() === '' ? undefined : Number(text) * unit);
const some = (text: string): string | undefined => text.trim() || undefined;

// bodyOf is what the API takes. A template that cannot be read goes as the text it
// is, and is refused for that.
export function bodyOf(d: Draft) {
  const tags = d.tags
    .split(',')
    .map((t) => t.trim())
    .filter(Boolean);
  const template = parseJSON(d.template);
  return {
    title: d.title,
    match: {
      source: some(d.source),
      type: some(d.type),
      agent: some(d.agent),
      tags: tags.length > 0 ? tags : undefined,
      min_value: number(d.min),
      max_value: number(d.max),
      where: d.where.length > 0 ? d.where.map((c) => ({ field: c.field.trim(), op: c.op, value: readValue(c.value) })) : undefined,
    },
    action: {
      [d.to]: some(d.target),
      tool: d.tool.trim(),
      template: template.value,
      batch: number(d.batch),
      batch_wait_ms: number(d.wait, 1000),
      timeout_ms: number(d.timeout, 1000),
      attempts: number(d.attempts),
      skip_after: number(d.skip),
      order_key: some(d.order),
      file_attempts: number(d.tries),
      retry_errors: d.retry || undefined,
      sign: d.sign || undefined,
      raise: d.raise || undefined,
      include_file_content: d.file || undefined,
      verify_file_hash: d.verify || undefined,
    },
  };
}

export type Field = Exclude<keyof Draft, 'where' | 'to'> | `where ${string}` | 'other';
export type Wrong = Partial<Record<Field, string>>;

const isName = /^[a-z][a-z0-9-]{0,62}$/;

// wrongIn is what can be told without asking. What is empty is only not ready.
export function wrongIn(d: Draft): Wrong {
  const out: Wrong = {};
  if (d.name && !isName.test(d.name)) out.name = 'Start with a lowercase letter, then up to 62 lowercase letters, digits or hyphens.';
  for (const f of ['min', 'max', 'batch', 'wait', 'timeout', 'attempts', 'skip', 'tries'] as const)
    if (d[f].trim() !== '' && Number.isNaN(Number(d[f]))) out[f] = 'Enter a number.';
  const template = parseJSON(d.template);
  if (template.problem) out.template = template.problem;
  else if (template.value !== undefined && (typeof template.value !== 'object' || template.value === null || Array.isArray(template.value)))
    out.template = 'Enter a JSON object with the arguments of the tool.';
  return out;
}

// ready says whether it can be tried: it names a tool, and where that is.
export const ready = (d: Draft): boolean =>
  d.target.trim() !== '' && d.tool.trim() !== '' && d.where.every((c) => c.field.trim() !== '') && Object.keys(wrongIn(d)).length === 0;

const signs: [RegExp, Field][] = [
  [/trigger's name/, 'name'],
  [/has no tool|^action: tool/, 'tool'],
  [/no server|server's id|^action: name one/, 'target'],
  [/batch_wait_ms/, 'wait'],
  [/^action: batch/, 'batch'],
  [/timeout_ms/, 'timeout'],
  [/^action: attempts/, 'attempts'],
  [/^action: skip_after/, 'skip'],
  [/order_key/, 'order'],
  [/^action: file_attempts/, 'tries'],
  [/verify_file_hash/, 'verify'],
  [/^match: min_value/, 'min'],
  [/^match: max_value/, 'max'],
  [/template/, 'template'],
];

// placed says which field a refusal is about, and what it says without the words
// that lead there.
export function placed(message: string): Wrong {
  const where = /^match: where (.+?): (.*)$/s.exec(message);
  if (where) return { [`where ${where[1]}`]: where[2] ?? '' };
  const field = signs.find(([sign]) => sign.test(message))?.[1] ?? 'other';
  return { [field]: message.replace(/^(action|match): /, '') };
}

export interface Sample {
  source?: string | undefined;
  type?: string | undefined;
  agent?: string | undefined;
  data?: unknown;
}

// placesIn lists what a template can take from an event, at most so many.
export function placesIn(data: unknown, most = 40): string[] {
  const out = ['id', 'source', 'type', 'agent', 'received_at'];
  const walk = (value: unknown, path: string) => {
    if (out.length >= most) return;
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      for (const [name, inner] of Object.entries(value)) {
        if (/^[\w-]+$/.test(name)) walk(inner, `${path}.${name}`);
      }
    else out.push(path);
  };
  if (data !== undefined && data !== null && typeof data === 'object') walk(data, 'data');
  return out;
}

interface ToolSchema {
  properties?: Record<string, { type?: string | string[] }>;
  required?: string[];
}

const kinds: Record<string, string> = { integer: '|integer', number: '|number', boolean: '|boolean' };

// templateFor begins a template with a tool's arguments, each from the member of
// data that is called the same.
export function templateFor(schema: unknown): string {
  const s = (schema ?? {}) as ToolSchema;
  const need = new Set(s.required ?? []);
  const out: Record<string, string> = {};
  for (const [name, p] of Object.entries(s.properties ?? {})) {
    const type = Array.isArray(p?.type) ? p.type[0] : p?.type;
    out[name] = `{{data.${name}${kinds[type ?? ''] ?? ''}${need.has(name) ? '' : '?'}}}`;
  }
  return JSON.stringify(out, null, 2);
}
