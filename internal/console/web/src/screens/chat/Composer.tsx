import { ActionIcon, NativeSelect, Textarea } from '@mantine/core';
import { SendHorizontal, Square } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { atCaret, complete } from './addressing';

// Composer is where a person writes. Enter sends where there is a keyboard, and
// makes a line where there is only glass.
export function Composer({
  agents,
  draft,
  setDraft,
  to,
  setTo,
  running,
  busy,
  send,
  stop,
}: {
  agents: readonly string[];
  draft: string;
  setDraft: (t: string) => void;
  to: string;
  setTo: (t: string) => void;
  running: boolean;
  busy: boolean;
  send: () => void;
  stop: () => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [shut, setShut] = useState(false);
  const naming = shut ? undefined : atCaret(draft, caret);
  const offers = naming ? [...agents, ...(agents.length > 1 ? ['all'] : [])].filter((a) => a.startsWith(naming.begun)) : [];
  const chosen = offers[Math.min(at, offers.length - 1)];
  const moved = useRef<number>(undefined);

  useEffect(() => {
    if (moved.current === undefined) return;
    field.current?.setSelectionRange(moved.current, moved.current);
    moved.current = undefined;
  });

  const take = (name: string) => {
    if (!naming) return;
    const next = complete(draft, naming, name);
    moved.current = next.caret;
    setCaret(next.caret);
    setDraft(next.text);
    field.current?.focus();
  };
  const press = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return;
    if (offers.length > 0 && chosen) {
      if (e.key === 'ArrowDown') setAt((i) => (i + 1) % offers.length);
      else if (e.key === 'ArrowUp') setAt((i) => (i + offers.length - 1) % offers.length);
      else if (e.key === 'Enter' || e.key === 'Tab') take(chosen);
      else if (e.key === 'Escape') setShut(true);
      else return;
      e.preventDefault();
      return;
    }
    if (e.key !== 'Enter' || e.shiftKey || matchMedia('(pointer: coarse)').matches) return;
    e.preventDefault();
    if (draft.trim() && !running && !busy) send();
  };
  return (
    <form
      className="composer"
      onSubmit={(e) => {
        e.preventDefault();
        if (draft.trim() && !running && !busy) send();
      }}
    >
      {offers.length > 0 && (
        <div className="naming" id="naming" role="listbox" aria-label="Agents to mention">
          {offers.map((name) => (
            <button
              key={name}
              type="button"
              role="option"
              id={`naming-${name}`}
              aria-selected={name === chosen}
              tabIndex={-1}
              onMouseDown={(e) => e.preventDefault()}
              onClick={() => take(name)}
            >
              @{name} {name === 'all' && <span className="soft tiny">every agent in this room</span>}
            </button>
          ))}
        </div>
      )}
      <Textarea
        ref={field}
        className="grow"
        variant="unstyled"
        autosize
        minRows={1}
        maxRows={8}
        placeholder={agents.length > 0 ? 'Write a message. Mention an agent with @.' : 'This room has no agents'}
        aria-label="Your message"
        role="combobox"
        aria-expanded={offers.length > 0}
        aria-controls="naming"
        aria-activedescendant={offers.length > 0 && chosen ? `naming-${chosen}` : undefined}
        value={draft}
        onChange={(e) => {
          setDraft(e.currentTarget.value);
          setCaret(e.currentTarget.selectionStart);
          setShut(false);
          setAt(0);
        }}
        onSelect={(e) => setCaret(e.currentTarget.selectionStart)}
        onKeyDown={press}
      />
      <div className="composer-acts">
        {agents.length > 1 && (
          <NativeSelect
            size="xs"
            variant="unstyled"
            aria-label="Who answers"
            value={to}
            data={[{ value: '', label: 'Auto' }, ...agents.map((a) => ({ value: a, label: a }))]}
            onChange={(e) => setTo(e.currentTarget.value)}
          />
        )}
        <span className="grow" />
        {running ? (
          <ActionIcon size="lg" variant="filled" color="red" aria-label="Stop" onClick={stop}>
            <Square size={14} fill="currentColor" />
          </ActionIcon>
        ) : (
          <ActionIcon type="submit" size="lg" variant="filled" color="teal" aria-label="Send" disabled={!draft.trim()} loading={busy}>
            <SendHorizontal size={16} />
          </ActionIcon>
        )}
      </div>
    </form>
  );
}
