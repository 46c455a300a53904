import { useSyncExternalStore } from 'react';

// Toasts say that something was done, for a few seconds, and undo it.

export interface Toast {
  id: number;
  text: string;
  undo?: (() => Promise<unknown>) | undefined;
  failed?: boolean; // it says that something could not be done
}

let list: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]) {
  list = next;
  for (const l of listeners) l();
}

const most = 3;

// toast shows a text. undo does the opposite of what was done.
export function toast(text: string, undo?: () => Promise<unknown>, failed = false): void {
  set([...list, { id: ++last, text, undo, failed }].slice(-most));
}

export const dismiss = (id: number): void => set(list.filter((t) => t.id !== id));

// undo runs what undoes a toast, and says how it ended.
export async function undo(t: Toast): Promise<void> {
  dismiss(t.id);
  try {
    await t.undo?.();
    toast('Undone');
  } catch (err) {
    toast(`It could not be undone: ${err instanceof Error ? err.message : String(err)}`, undefined, true);
  }
}

export const useToasts = (): readonly Toast[] =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => list,
  );
