import { TextInput, type TextInputProps } from '@mantine/core';
import { useId } from 'react';

// SuggestInput is a field that takes any text, and offers what is known.
export function SuggestInput({
  known,
  change,
  ...rest
}: Omit<TextInputProps, 'onChange'> & { known: readonly string[]; change: (v: string) => void }) {
  const id = useId();
  return (
    <>
      <TextInput {...rest} list={id} autoComplete="off" spellCheck={false} onChange={(e) => change(e.currentTarget.value)} />
      <datalist id={id}>
        {[...new Set(known)].filter(Boolean).map((k) => (
          <option key={k} value={k} />
        ))}
      </datalist>
    </>
  );
}
