import { Button, CloseButton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { dismiss, type Toast, undo, useToasts } from '../parts/toasts';

const shownFor = 8_000;

// Toasts are the messages at the lower edge. Each stays while the pointer or the focus is on it.
export function Toasts() {
  const list = useToasts();
  return (
    <section className="toasts" aria-label="Messages" aria-live="polite">
      {list.map((t) => (
        <Message key={t.id} t={t} />
      ))}
    </section>
  );
}

function Message({ t }: { t: Toast }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => dismiss(t.id), shownFor);
    return () => clearTimeout(timer);
  }, [held, t.id]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only stays while somebody is at it
    <div
      className={`toast ${t.failed ? 'failed' : ''}`}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span className="grow wrap">{t.text}</span>
      {t.undo && (
        <Button size="compact-sm" variant="subtle" onClick={() => void undo(t)}>
          Undo
        </Button>
      )}
      <CloseButton size="sm" aria-label="Close the message" onClick={() => dismiss(t.id)} />
    </div>
  );
}
