import { useCallback, useSyncExternalStore } from 'react';

// What a browser keeps for a person. A storage that is full or forbidden keeps
// nothing, and that is all that happens.

const listeners = new Set<() => void>();
const cache = new Map<string, { text: string | null; value: unknown }>();

function read<T>(storage: Storage, key: string, usual: T): T {
  let text: string | null = null;
  try {
    text = storage.getItem(key);
  } catch {
    return usual;
  }
  const known = cache.get(key);
  if (known && known.text === text) return known.value as T;
  let value: unknown = usual;
  try {
    if (text !== null) value = JSON.parse(text);
  } catch {
    value = usual;
  }
  cache.set(key, { text, value });
  return value as T;
}

export function useKept<T>(storage: Storage, key: string, usual: T): [T, (v: T) => void] {
  const value = useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => read(storage, key, usual),
  );
  const set = useCallback(
    (v: T) => {
      try {
        storage.setItem(key, JSON.stringify(v));
      } catch {
        cache.set(key, { text: null, value: v });
      }
      for (const l of listeners) l();
    },
    [storage, key],
  );
  return [value, set];
}
