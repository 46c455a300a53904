import { Button, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ErrorCard } from './states';

// Confirm asks before a change that interrupts somebody or cannot be undone. With typed, the
// name of the object has to be typed first.
export function Confirm({
  title,
  act,
  typed,
  harmless = false,
  of,
  run,
  close,
  children,
}: {
  title: string;
  act: string; // what the button does
  typed?: string;
  harmless?: boolean;
  of: { isPending: boolean; error: unknown };
  run: () => void;
  close: () => void;
  children: ReactNode;
}) {
  const [text, setText] = useState('');
  const ready = typed === undefined || text === typed;
  return (
    <Modal opened onClose={close} title={title}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) run();
        }}
      >
        <div className="stack tight soft">{children}</div>
        {typed !== undefined && (
          <TextInput
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
        )}
        {of.error ? <ErrorCard error={of.error} /> : null}
        <div className="acts">
          <Button type="submit" {...(harmless ? {} : { color: 'red' })} disabled={!ready} loading={of.isPending}>
            {act}
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}
