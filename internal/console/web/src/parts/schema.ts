// What the playground knows of JSON Schema: enough to draw a form and to say
// what is wrong while somebody types. The pipeline has the last word.

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  oneOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
  examples?: unknown[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
}

export interface Wrong {
  pointer: string;
  message: string;
}

export type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'choice' | 'any';

// resolve follows references inside the document; others stay unknown.
export function resolve(schema: Schema, root: Schema, depth = 0): Schema {
  if (!schema.$ref || depth > 20) return schema;
  const parts = schema.$ref.split('/');
  if (parts.shift() !== '#') return {};
  let at: unknown = root;
  for (const p of parts) at = (at as Record<string, unknown> | undefined)?.[p.replaceAll('~1', '/').replaceAll('~0', '~')];
  return at ? resolve({ ...(at as Schema), ...(schema.description ? { description: schema.description } : {}) }, root, depth + 1) : {};
}

export function kindOf(s: Schema): Kind {
  if (s.enum || choices(s)) return 'choice';
  const types = [s.type ?? []].flat().filter((t) => t !== 'null');
  if (types.length === 1) return types[0] as Kind;
  if (types.length === 0 && s.properties) return 'object';
  return 'any';
}

// choices gives the values of a schema that names each with a title.
export function choices(s: Schema): { value: unknown; name: string }[] | undefined {
  if (s.enum) return s.enum.map((value) => ({ value, name: typeof value === 'string' ? value : JSON.stringify(value) }));
  const of = s.oneOf ?? s.anyOf;
  if (of?.length && of.every((o) => o.const !== undefined)) return of.map((o) => ({ value: o.const, name: o.title ?? String(o.const) }));
  return undefined;
}

// initial is what a form begins with: what is required, and what has a default.
export function initial(schema: Schema, root: Schema = schema, depth = 0): unknown {
  const s = resolve(schema, root);
  if (s.default !== undefined) return s.default;
  if (kindOf(s) !== 'object' || depth > 4) return undefined;
  const out: Record<string, unknown> = {};
  for (const [name, p] of Object.entries(s.properties ?? {})) {
    const sub = resolve(p, root);
    const v = initial(sub, root, depth + 1);
    const needed = s.required?.includes(name);
    if (v !== undefined && (needed || sub.default !== undefined)) out[name] = v;
    else if (needed && kindOf(sub) === 'boolean') out[name] = false;
    else if (needed && kindOf(sub) === 'array') out[name] = [];
  }
  return out;
}

const typeOf = (v: unknown): string => (v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v);

function fits(v: unknown, type: string): boolean {
  if (type === 'integer') return typeof v === 'number' && Number.isInteger(v);
  return typeOf(v) === type;
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');

// check lists what is wrong with a value.
export function check(value: unknown, schema: Schema, root: Schema = schema, pointer = '', depth = 0): Wrong[] {
  const s = resolve(schema, root);
  if (depth > 30) return [];
  const wrong: Wrong[] = [];
  const say = (message: string) => wrong.push({ pointer, message });
  const types = [s.type ?? []].flat();
  if (types.length && !types.some((t) => fits(value, t))) {
    say(`must be ${types.join(' or ')}`);
    return wrong;
  }
  const known = choices(s);
  if (known && !known.some((c) => JSON.stringify(c.value) === JSON.stringify(value)))
    say(`must be one of ${known.map((c) => JSON.stringify(c.value)).join(', ')}`);
  if (s.const !== undefined && JSON.stringify(s.const) !== JSON.stringify(value)) say(`must be ${JSON.stringify(s.const)}`);
  if (typeof value === 'string') {
    const length = [...value].length;
    if (s.minLength !== undefined && length < s.minLength) say(`must have at least ${s.minLength} characters`);
    if (s.maxLength !== undefined && length > s.maxLength) say(`must have at most ${s.maxLength} characters`);
    if (s.pattern !== undefined && safeTest(s.pattern, value) === false) say(`must match ${s.pattern}`);
  }
  if (typeof value === 'number') {
    if (s.minimum !== undefined && value < s.minimum) say(`must be at least ${s.minimum}`);
    if (s.maximum !== undefined && value > s.maximum) say(`must be at most ${s.maximum}`);
  }
  if (Array.isArray(value)) {
    if (s.minItems !== undefined && value.length < s.minItems) say(`must have at least ${s.minItems} items`);
    if (s.maxItems !== undefined && value.length > s.maxItems) say(`must have at most ${s.maxItems} items`);
    if (s.items) for (const [i, v] of value.entries()) wrong.push(...check(v, s.items, root, `${pointer}/${i}`, depth + 1));
  }
  if (typeOf(value) === 'object') {
    const object = value as Record<string, unknown>;
    for (const name of s.required ?? [])
      if (!(name in object)) wrong.push({ pointer: `${pointer}/${escaped(name)}`, message: 'is required' });
    for (const [name, v] of Object.entries(object)) {
      const sub = s.properties?.[name];
      if (sub) wrong.push(...check(v, sub, root, `${pointer}/${escaped(name)}`, depth + 1));
      else if (s.additionalProperties === false) wrong.push({ pointer: `${pointer}/${escaped(name)}`, message: 'is not a known field' });
    }
  }
  return wrong;
}

// A pattern of a stranger is tried on short texts only: some take ages.
function safeTest(pattern: string, value: string): boolean | undefined {
  if (value.length > 200 || pattern.length > 200 || /\([^)]*[+*][^)]*\)[+*{]/.test(pattern)) return undefined;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return undefined;
  }
}
