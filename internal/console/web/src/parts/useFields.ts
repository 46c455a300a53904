import { type ChangeEvent, useState } from 'react';
import { text as textOf } from './edits';

type Typed = ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>;
type Keys<F, V> = { [K in keyof F]-?: F[K] extends V ? K : never }[keyof F];

export interface FormFields<F extends object> {
  fields: F;
  edit: (part: Partial<F>) => void;
  edited: boolean; // whether a field differs from what it was at first
  reset: () => void;
  // text and check are the props of an input for a field.
  text: <K extends Keys<F, string>>(key: K) => { value: F[K]; onChange: (e: Typed) => void };
  check: <K extends Keys<F, boolean>>(key: K) => { checked: F[K]; onChange: (e: ChangeEvent<HTMLInputElement>) => void };
}

// useFields keeps what is typed into a form that makes something new. Forms that change a
// stored object use useEdits. changed runs with each edit: what the server said of the former
// fields holds no more.
export function useFields<F extends object>(first: F | (() => F), changed: () => void = () => undefined): FormFields<F> {
  const [begun] = useState(first);
  const [fields, setFields] = useState(begun);
  const edit = (part: Partial<F>) => {
    changed();
    setFields((f) => ({ ...f, ...part }));
  };
  return {
    fields,
    edit,
    edited: textOf(fields) !== textOf(begun),
    reset: () => setFields(begun),
    text: (key) => ({ value: fields[key], onChange: (e) => edit({ [key]: e.currentTarget.value } as unknown as Partial<F>) }),
    check: (key) => ({ checked: fields[key], onChange: (e) => edit({ [key]: e.currentTarget.checked } as unknown as Partial<F>) }),
  };
}
