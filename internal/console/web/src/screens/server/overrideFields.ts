import type { Schemas } from '../../api/client';
import forms from '../../api/forms.json' with { type: 'json' };
import type { Schema } from '../../parts/schema.ts';

export type Overrides = NonNullable<Schemas['Server']['overrides']>;

export type Override = Overrides[string];

export const overrideSchema = forms.override as Schema;

// overridesBeside lists the settings of a tool without those that are named.
export const overridesBeside = (...names: string[]): string[] =>
  Object.keys(overrideSchema.properties ?? {}).filter((name) => !names.includes(name));

// A tool can be stated not to be so, which is more than saying nothing.
const stated = ['read_only', 'destructive', 'idempotent', 'open_world'];

// cleanOverrides leaves out what changes nothing: what is off, empty or only blanks.
export function cleanOverrides(all: Overrides): Overrides {
  const out: Overrides = {};
  for (const tool of Object.keys(all).sort()) {
    const members = Object.entries(all[tool] ?? {})
      .map(([name, v]) => [name, typeof v === 'string' ? v.trim() : v] as const)
      .filter(([name, v]) => (Array.isArray(v) ? v.length > 0 : v || (v === false && stated.includes(name))))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    if (members.length > 0) out[tool] = Object.fromEntries(members);
  }
  return out;
}

// isToolName reports whether a name can be given to a tool. Without one, it keeps its own.
export const isToolName = (name: string | undefined): boolean => !name || /^[A-Za-z0-9_-]{1,64}$/.test(name);

export const nameRule = 'Use up to 64 letters, digits, _ and -.';
