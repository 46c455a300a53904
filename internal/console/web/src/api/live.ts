// Lists are read again when the stream of changes names them. While there is no stream they
// are polled; with it they are read from time to time, because a notice can be missing.

let streaming = false;
let admin = false;

const slow = 30_000;

export const setStreaming = (now: boolean): void => {
  streaming = now;
};
export const setAdmin = (now: boolean): void => {
  admin = now;
};

// pollEvery is the refetchInterval of a list that the stream names when it changes. fast is
// the interval without a stream.
export const pollEvery = (fast: number) => () => (streaming ? slow : fast);

// pollEveryUnlessAdmin is pollEvery for lists that the stream names to admins only.
export const pollEveryUnlessAdmin = (fast: number) => () => (streaming && admin ? slow : fast);

// queries are the first members of query keys that hold more than the list they are named by.
const queries: Record<string, readonly string[]> = {
  servers: ['servers', 'credentials'],
  tools: ['tools', 'tool', 'changes'],
  triggers: ['triggers', 'ready-triggers'],
};

// Objects that this page deletes, by the keys of their queries: they are not read again, also
// while their page is still shown.
const deleted = new Set<readonly unknown[]>();

export const noteDeletion = (key: readonly unknown[]): unknown => deleted.add(key);
export const forgetDeletion = (key: readonly unknown[]): unknown => deleted.delete(key);

export const isDeleted = (key: readonly unknown[]): boolean => [...deleted].some((prefix) => prefix.every((part, i) => key[i] === part));

// isOf reports whether a query holds one of the lists that changed; * stands for all lists.
export function isOf(key: unknown, lists: readonly string[]): boolean {
  return lists.some((list) => list === '*' || (queries[list] ?? [list]).includes(String(key)));
}
