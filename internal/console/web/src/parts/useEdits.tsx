import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Failure, send } from '../api/client';
import { ConflictDialog } from './ConflictDialog';
import { canRebase, editedFields, fieldChanges, isLater, type Versioned } from './edits';
import { useUnsaved } from './unsaved';

// A form that changes a stored thing. What is typed stands over what is stored, so that
// reading it again discards nothing, and a change names the version that it was made
// from. Where somebody else changed the same thing, both sides are shown.

export interface Edits<N extends Versioned, F extends object> {
  base: N; // what the edits were made from
  stored: F; // the fields of base
  fields: F; // the same with what was typed
  edits: Partial<F>;
  edited: (keyof F)[];
  edit: (part: Partial<F>) => void;
  reset: (base?: N) => void; // to what is stored
}

// useEdits keeps what is typed into the fields of a thing. now is the thing as it was
// read last. It takes the place of what the edits were made from, unless somebody
// changed what they change: saving then says so.
export function useEdits<N extends Versioned, F extends object>(now: N, fieldsOf: (n: N) => F): Edits<N, F> {
  const [base, setBase] = useState(now);
  const [edits, setEdits] = useState<Partial<F>>({});
  const rebased = isLater(now, base) && canRebase(fieldsOf(base), fieldsOf(now), edits);
  if (rebased) setBase(now);
  const from = rebased ? now : base;
  const stored = fieldsOf(from);
  const edited = editedFields(stored, edits);
  const saved = useUnsaved(edited.length > 0);
  return {
    base: from,
    stored,
    fields: { ...stored, ...edits },
    edits,
    edited,
    edit: (part) => setEdits((e) => ({ ...e, ...part })),
    reset: (to) => {
      saved();
      setEdits({});
      if (to) setBase(to);
    },
  };
}

export interface Saving<N> {
  save: () => void;
  busy: boolean;
  error: unknown; // other than a conflict
  dialog: ReactNode; // to be placed beside the form
  clear: () => void;
  saved: N | undefined;
}

// useSave stores the edits of a form. bodyOf is what is sent of the fields, for a thing
// as it is stored; done runs once it is.
export function useSave<N extends Versioned, F extends object>({
  of,
  fieldsOf,
  request,
  bodyOf,
  done,
  labels = {},
  written = () => undefined,
}: {
  of: Edits<N, F>;
  fieldsOf: (n: N) => F;
  request: () => [method: 'PATCH' | 'PUT' | 'POST', path: string];
  bodyOf: (fields: F, stored: N) => unknown;
  done?: (stored: N) => unknown;
  labels?: Record<string, string>;
  written?: (field: string, value: unknown) => string | undefined; // of a value in the dialog of a conflict
}): Saving<N> {
  const [dismissed, setDismissed] = useState<unknown>(null);
  const put: UseMutationResult<N, unknown, N> = useMutation({
    mutationFn: (base: N) => {
      const [method, path] = request();
      return send<N>(method, path, bodyOf({ ...fieldsOf(base), ...of.edits }, base), { match: base.updated_at });
    },
    onSuccess: async (stored) => {
      of.reset(stored);
      await done?.(stored);
    },
  });
  const refused = put.error instanceof Failure && put.error.problem.code === 'precondition' ? put.error : null;
  const theirs = refused?.problem.current as N | undefined;
  const close = () => setDismissed(put.error);
  return {
    save: () => put.mutate(of.base),
    busy: put.isPending,
    error: theirs ? null : put.error,
    clear: put.reset,
    saved: put.data,
    dialog: theirs && (
      <ConflictDialog
        opened={dismissed !== put.error && !put.isPending}
        by={refused?.problem.changed_by}
        changes={fieldChanges(of.stored, fieldsOf(theirs), of.edits)}
        labels={labels}
        written={written}
        merge={() => put.mutate(theirs)}
        reload={() => {
          put.reset();
          of.reset(theirs);
          void done?.(theirs);
        }}
        close={close}
      />
    ),
  };
}
