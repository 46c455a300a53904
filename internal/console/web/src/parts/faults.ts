import { Failure } from '../api/failure.ts';

// Faults are what the server says of the fields of a form, by their names.
export type Faults = Readonly<Record<string, string>>;

// faultsOf returns what an error says of fields. The server names a field by its place in the
// request, or at the beginning of the message. identity is the field by which the thing is
// known: it is at fault if there is such a thing already.
export function faultsOf(error: unknown, fields: readonly string[], identity?: string): Faults {
  if (!(error instanceof Failure)) return {};
  const { errors = [], code, detail } = error.problem;
  const out: Record<string, string> = {};
  for (const e of errors ?? []) {
    const field = e.pointer?.split('/')[1] ?? '';
    if (e.in === 'body' && fields.includes(field)) out[field] ??= e.message;
  }
  if (Object.keys(out).length > 0) return out;
  const named = fields.find((f) => new RegExp(`^(the )?${f}(:| ["“]| (must|is|has|cannot|already|contains)\\b)`).test(detail));
  if (named) return { [named]: detail.replace(new RegExp(`^${named}: `), '') };
  return code === 'conflict' && identity ? { [identity]: detail } : {};
}

// unplaced returns an error that no field shows.
export const unplaced = (error: unknown, faults: Faults): unknown => (Object.keys(faults).length > 0 ? null : error);
