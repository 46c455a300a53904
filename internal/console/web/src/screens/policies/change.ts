import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Me, query, send } from '../../api/client';
import type { PolicyEntry } from '../../api/policies';
import { can } from '../../app/permissions';
import { bodyOf, draftOf, neighbourOf, placeQuery } from '../../parts/policy';
import { toast } from '../../parts/toasts';

// mayChange reports whether a user may change a rule here: those of a settings file are
// changed there, and operators' rules by operators only.
export const mayChange = (me: Me | undefined, e: PolicyEntry): boolean =>
  can(me, 'policy:write') && !e.declared && !e.restricted && (!e.operators || (can(me, 'admin') && me?.tenant === 'default'));

// put stores a rule as it is, apart from its mode and its place.
const put = (e: PolicyEntry, place = '', mode = e.mode, match?: string) =>
  send<PolicyEntry>(
    'PUT',
    `/policies/${encodeURIComponent(e.name)}${query(placeQuery(place))}`,
    { ...bodyOf(draftOf(e)), mode },
    { match },
  );

const refresh = (cache: QueryClient) => cache.invalidateQueries({ queryKey: ['policies'] });

// useSetMode enforces a rule, or lets it only record.
export function useSetMode() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: ({ e, mode }: { e: PolicyEntry; mode: 'enforce' | 'audit' }) => put(e, '', mode, e.updated_at),
    onSuccess: (stored, { e, mode }) =>
      toast(`${e.name} ${mode === 'enforce' ? 'is enforced' : 'only records'}`, () =>
        put(e, '', e.mode ?? 'enforce', stored.updated_at).finally(() => refresh(cache)),
      ),
    onSettled: () => refresh(cache),
  });
}

// useMove changes the places of a rule and its neighbour.
export function useMove(all: readonly PolicyEntry[]) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ e, step }: { e: PolicyEntry; step: 1 | -1 }) => {
      const other = neighbourOf(all, e, step);
      if (other) await put(e, `${step < 0 ? 'before' : 'after'}:${other.name}`, e.mode, e.updated_at);
    },
    onSettled: () => refresh(cache),
  });
}

// useRemove removes a rule. Undo puts it back where it was.
export function useRemove(all: readonly PolicyEntry[], done: () => void = () => undefined) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (e: PolicyEntry) => send('DELETE', `/policies/${encodeURIComponent(e.name)}`, undefined, { match: e.updated_at }),
    onSuccess: (_, e) => {
      const at = all.findIndex((o) => o.name === e.name && !o.restricted);
      const [next, before] = [all[at + 1], all[at - 1]];
      const like = (o: PolicyEntry | undefined) => o && !o.restricted && !!o.operators === !!e.operators;
      const place = like(next) ? `before:${next?.name}` : like(before) ? `after:${before?.name}` : '';
      done();
      toast(`${e.name} is removed`, () => put(e, place).finally(() => refresh(cache)));
      cache.removeQueries({ queryKey: ['policies', e.name] });
    },
    onSettled: () => refresh(cache),
  });
}
