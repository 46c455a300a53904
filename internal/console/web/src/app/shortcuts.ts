import type { Place } from './navigation';

// A shortcut is what keys do. Keys that follow each other are pressed one after the other.
export interface Shortcut {
  keys: readonly string[];
  name: string;
  path?: string; // the screen that it opens
  help?: true; // it opens the list of shortcuts
}

const leader = 'g';
const mac = typeof navigator !== 'undefined' && navigator.platform.startsWith('Mac');
export const findKeys = mac ? '⌘K' : 'Ctrl K';

// elsewhere are shortcuts with modifier keys. Other parts of the console listen for them.
export const elsewhere: readonly Shortcut[] = [
  { keys: [findKeys], name: 'Find a screen, a server, a tool or an agent' },
  { keys: [mac ? '⌘↵' : 'Ctrl ↵'], name: 'Make the call in the playground' },
];

// shortcutsFor is the table of shortcuts without modifier keys, for the places that a user
// may see.
export const shortcutsFor = (shown: readonly Place[]): Shortcut[] => [
  { keys: ['?'], name: 'Show the keyboard shortcuts', help: true },
  ...shown.flatMap((p) => (p.key ? [{ keys: [leader, p.key], name: p.name, path: p.path }] : [])),
];

// A key that waits for a second one is forgotten after this time, in milliseconds.
export const patience = 1500;

// keyReader recognizes the shortcuts of a table in keys that are pressed one after the
// other.
export function keyReader(table: readonly Shortcut[]): (key: string, at: number) => Shortcut | undefined {
  let first = { key: '', at: 0 };
  return (key, at) => {
    const begun = at - first.at <= patience ? first.key : '';
    first = { key: '', at: 0 };
    if (begun) {
      const second = table.find((s) => s.keys.length === 2 && s.keys[0] === begun && s.keys[1] === key);
      if (second) return second;
    }
    if (table.some((s) => s.keys.length === 2 && s.keys[0] === key)) first = { key, at };
    return table.find((s) => s.keys.length === 1 && s.keys[0] === key);
  };
}

// isTyping reports whether keys belong to what has the focus: a field, a menu or a list.
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input, textarea, select, [contenteditable]:not([contenteditable="false"]), [role="menu"], [role="listbox"]') !== null;
