import { asNumber, asText, at, isRecord, within } from './data.ts';
import { date, money, number, plural } from './formats.ts';
import { type Expression, template } from './template.ts';

// What the properties of components mean: a literal, a place in the data, or a
// call of one of the basic catalog's functions.

export interface World {
  data: unknown;
  scope: string; // where a list has come to, "" outside of lists
}

const mostDepth = 20;

// resolve is what a property is now. What cannot be had is undefined, never a
// fault: data may come later.
export function resolve(v: unknown, world: World, depth = 0): unknown {
  if (!isRecord(v) || depth > mostDepth) return v;
  if (typeof v.path === 'string' && Object.keys(v).length === 1) return at(world.data, within(world.scope, v.path));
  if (typeof v.call === 'string') return call(v.call, isRecord(v.args) ? v.args : {}, world, depth);
  return v;
}

export const textOf = (v: unknown, world: World): string => asText(resolve(v, world));
export const numberOf = (v: unknown, world: World): number | undefined => asNumber(resolve(v, world));

export function listOf(v: unknown, world: World): unknown[] {
  const found = resolve(v, world);
  return Array.isArray(found) ? found : [];
}

// boundTo is the absolute place that a property is bound to, where it is.
export const boundTo = (v: unknown, scope: string): string | undefined =>
  isRecord(v) && typeof v.path === 'string' && v.call === undefined ? within(scope, v.path) : undefined;

// call makes a call of a function. Functions that only act, and those that are
// not known, have no value.
function call(name: string, args: Record<string, unknown>, world: World, depth: number): unknown {
  const arg = (key: string) => resolve(args[key], world, depth + 1);
  const whole = (key: string) => (args[key] === undefined ? undefined : asNumber(arg(key)));
  switch (name) {
    case 'required': {
      const v = arg('value');
      return v !== undefined && v !== null && v !== '' && !(Array.isArray(v) && v.length === 0);
    }
    case 'regex':
      return matches(asText(arg('value')), asText(args.pattern));
    case 'length':
      return between([...asText(arg('value'))].length, args.min, args.max);
    case 'numeric': {
      const n = asNumber(arg('value'));
      return n !== undefined && between(n, args.min, args.max);
    }
    case 'email':
      return /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(asText(arg('value')));
    case 'formatString':
      return template(asText(arg('value')))
        .map((part) => asText(told(part, world, depth + 1)))
        .join('');
    case 'formatNumber':
      return number(arg('value'), whole('decimals'), arg('grouping') !== false);
    case 'formatCurrency':
      return money(arg('value'), asText(arg('currency')), whole('decimals'), arg('grouping') !== false);
    case 'formatDate':
      return date(arg('value'), asText(arg('format')));
    case 'pluralize': {
      const forms = Object.keys(args).filter((k) => k !== 'value');
      return plural(asNumber(arg('value')) ?? 0, Object.fromEntries(forms.map((k) => [k, asText(arg(k))])));
    }
    case 'and':
      return several(args.values).every((v) => resolve(v, world, depth + 1) === true);
    case 'or':
      return several(args.values).some((v) => resolve(v, world, depth + 1) === true);
    case 'not':
      return arg('value') !== true;
    default:
      return undefined;
  }
}

const several = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const between = (n: number, min: unknown, max: unknown) => (typeof min !== 'number' || n >= min) && (typeof max !== 'number' || n <= max);

function told(e: Expression, world: World, depth: number): unknown {
  if (depth > mostDepth) return undefined;
  switch (e.kind) {
    case 'text':
      return e.text;
    case 'path':
      return at(world.data, within(world.scope, e.path));
    case 'call':
      return call(e.name, Object.fromEntries(e.args.map(([k, v]) => [k, told(v, world, depth + 1)])), world, depth + 1);
  }
}

// A pattern that repeats what itself repeats or chooses may take a browser years;
// it, and one that is no pattern, lets everything pass: the agent checks again.
const slow = /\((?:[^()\\]|\\.)*[*+|{](?:[^()\\]|\\.)*\)\s*[*+{]|\)[*+{?][^(]*\)\s*[*+{]/;
const mostPattern = 300;

export function matches(text: string, pattern: string): boolean {
  if (pattern.length > mostPattern || slow.test(pattern)) return true;
  try {
    return new RegExp(pattern, 'u').test(text.slice(0, 2000));
  } catch {
    return true;
  }
}

// faultOf is the message of the first check of a component that does not hold.
export function faultOf(checks: unknown, world: World): string {
  for (const c of several(checks))
    if (isRecord(c) && resolve(c.condition, world) === false) return asText(c.message) || 'This value is invalid.';
  return '';
}
