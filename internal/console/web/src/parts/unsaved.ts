import { useEffect, useId, useSyncExternalStore } from 'react';

// Forms with changes that are not saved. Leaving the page asks first.

const dirty = new Set<string>();
const listeners = new Set<() => void>();

export interface Leaving {
  to: string;
  go: () => void;
}
let leaving: Leaving | null = null;

function setLeaving(next: Leaving | null) {
  leaving = next;
  for (const l of listeners) l();
}

const warn = (e: BeforeUnloadEvent) => e.preventDefault();

function mark(id: string, on: boolean) {
  if (on) dirty.add(id);
  else dirty.delete(id);
  // A page with such a listener is not kept by the browser for going back.
  if (dirty.size > 0) window.addEventListener('beforeunload', warn);
  else window.removeEventListener('beforeunload', warn);
}

// useUnsaved says whether a form has changes that are not saved. The function that it returns
// says that there are none now, before anything is drawn again.
export function useUnsaved(on: boolean): () => void {
  const id = useId();
  useEffect(() => {
    mark(id, on);
    return () => mark(id, false);
  }, [id, on]);
  return () => mark(id, false);
}

// forgetUnsaved says that no form has changes: what they change was deleted.
export function forgetUnsaved(): void {
  for (const id of [...dirty]) mark(id, false);
}

// The parts of an address that decide which form is shown.
const shownBy = ['tab', 'new', 'how', 'step', 'id'];

// leaves reports whether forms of one address are not shown at another.
export function leaves(from: URL, to: URL): boolean {
  return from.pathname !== to.pathname || shownBy.some((key) => from.searchParams.get(key) !== to.searchParams.get(key));
}

// guard asks before a form with changes is left, and then goes on.
export function guard(to: string, go: () => void): void {
  if (dirty.size > 0 && leaves(new URL(location.href), new URL(to, location.href))) setLeaving({ to, go });
  else go();
}

// answer ends the question: the form is left, or not.
export function answer(leave: boolean): void {
  const asked = leaving;
  setLeaving(null);
  if (!leave || !asked) return;
  forgetUnsaved();
  asked.go();
}

export const useLeaving = (): Leaving | null =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => leaving,
  );

// watchHistory guards the buttons of the browser, which have moved when this is told: it goes
// where it was before it asks. It has to run before anything else listens.
export function watchHistory(): void {
  let here = location.href;
  const remember = () => {
    here = location.href;
  };
  for (const name of ['pushState', 'replaceState'] as const) {
    const former = history[name].bind(history);
    history[name] = (...args: Parameters<History['pushState']>) => {
      former(...args);
      remember();
    };
  }
  window.addEventListener('popstate', (e) => {
    const to = location.href;
    if (dirty.size === 0 || !leaves(new URL(here), new URL(to))) return remember();
    e.stopImmediatePropagation();
    history.pushState(null, '', here);
    setLeaving({ to, go: () => history.back() });
  });
}
