import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { get, getAll, type Key, type Page, query, type Schemas, send } from './client';
import { forgetDeletion, isDeleted, noteDeletion } from './live';

export type User = Schemas['User'];
export type Login = Schemas['Login'];
export type Consent = Schemas['Consent'];
export type CreatedKey = Schemas['CreatedKey'];
export type SignInLink = Schemas['SignInLink'];

// useAction is a change of the instance. Afterwards the queries that lists names are read
// again, by the first member of their keys, and the history of changes. A deleted object is
// not: deleted is the key of its query.
export function useAction<V = void, T = void>(
  run: (v: V) => Promise<T>,
  { lists, deleted, done }: { lists: readonly string[]; deleted?: QueryKey; done?: (answer: T, v: V) => void },
) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: run,
    // A request for the object that is under way could be answered after it is deleted.
    onMutate: async () => {
      if (!deleted) return;
      noteDeletion(deleted);
      await cache.cancelQueries({ queryKey: deleted });
    },
    onError: () => {
      if (deleted) forgetDeletion(deleted);
    },
    onSuccess: (answer, v) => done?.(answer, v),
    onSettled: (_, error) =>
      cache.invalidateQueries({
        predicate: ({ queryKey }) => [...lists, 'admin-changes'].includes(String(queryKey[0])) && (error !== null || !isDeleted(queryKey)),
      }),
  });
}

export const userPath = (id: string) => `/users/${encodeURIComponent(id)}`;

export const useUser = (id: string) => useQuery({ queryKey: ['users', id], queryFn: ({ signal }) => get<User>(userPath(id), signal) });

// The API lists keys and shows none alone; its search finds a key by its ID.
export const useKey = (id: string) =>
  useQuery({
    queryKey: ['keys', 'one', id],
    queryFn: ({ signal }) => get<Page<Key>>(`/keys${query({ q: id })}`, signal),
    select: (p) => p.items.find((k) => k.id === id) ?? null,
  });

export const useTiers = () =>
  useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => get<Schemas['LimitState']>('/limits', signal),
    select: (l) => Object.keys(l.tiers ?? {}),
  });

// endLogins ends the sessions of a user, except one.
export async function endLogins(user: string, except = '') {
  const { items } = await getAll<Login>(`/logins${query({ user })}`);
  for (const { id } of items) if (id !== except) await send('DELETE', `/logins/${encodeURIComponent(id)}`);
}
