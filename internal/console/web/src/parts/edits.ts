// What somebody types into a form stands over what is stored, field by field. What is
// stored may change meanwhile: by a neighbouring control, or by somebody else.

export interface Versioned {
  updated_at?: string | undefined; // the version of a thing, by which a change names it
}

// text is a value as one text, whatever the order of its members; what is absent and
// what is empty are the same.
export function text(v: unknown): string {
  return (
    JSON.stringify(v, (_, x) =>
      x && typeof x === 'object' && !Array.isArray(x)
        ? Object.fromEntries(
            Object.entries(x)
              .filter(([, y]) => y !== undefined)
              .sort(([a], [b]) => (a < b ? -1 : 1)),
          )
        : x,
    ) ?? ''
  );
}

// isLater says whether a version is later than another. Fractions of seconds may have
// any number of digits.
export function isLater(a: Versioned, b: Versioned): boolean {
  const padded = ({ updated_at: at = '' }: Versioned) => {
    const [whole = '', fraction = ''] = at.replace('Z', '').split('.');
    return `${whole}.${fraction.padEnd(9, '0')}`;
  };
  return padded(a) > padded(b);
}

// editedFields are the fields that somebody changed.
export const editedFields = <F extends object>(stored: F, edits: Partial<F>): (keyof F)[] =>
  (Object.keys(edits) as (keyof F)[]).filter((k) => text(edits[k]) !== text(stored[k]));

// canRebase says whether what is stored now can take the place of what the edits were
// made from: nobody else changed what they change.
export const canRebase = <F extends object>(base: F, now: F, edits: Partial<F>): boolean =>
  editedFields(base, edits).every((k) => text(base[k]) === text(now[k]));

export interface FieldChange {
  field: string;
  yours: unknown;
  theirs: unknown;
  edited: boolean; // here
  changed: boolean; // by the other one
}

// fieldChanges are the fields that either side changed.
export function fieldChanges<F extends object>(base: F, now: F, edits: Partial<F>): FieldChange[] {
  const edited = editedFields(base, edits);
  const keys = [...new Set([...Object.keys(base), ...Object.keys(now), ...Object.keys(edits)])] as (keyof F)[];
  return keys
    .map((k) => ({
      field: String(k),
      yours: edited.includes(k) ? edits[k] : base[k],
      theirs: now[k],
      edited: edited.includes(k),
      changed: text(base[k]) !== text(now[k]),
    }))
    .filter((c) => c.edited || c.changed);
}
