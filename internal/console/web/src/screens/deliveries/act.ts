import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schemas, send } from '../../api/client';
import type { Filter } from '../../api/happenings';
import type { Act } from '../../parts/deliveries';

export type Choice = Filter | { ids: string[] };

// useAct holds, releases, drops or replays deliveries: some, or all that fit.
export function useAct(onSuccess?: (count: number) => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (c: { action: Act; which: Choice }) =>
      send<Schemas['Changed']>('POST', '/deliveries/actions', { action: c.action, ...c.which }),
    onSuccess: (changed) => onSuccess?.(changed.count),
    onSettled: () =>
      Promise.all([cache.invalidateQueries({ queryKey: ['deliveries'] }), cache.invalidateQueries({ queryKey: ['endpoints'] })]),
  });
}
