import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Schemas, send } from '../../api/client';
import type { Filter } from '../../api/events';
import type { DeliveryAction } from '../../parts/deliveries';

export type Choice = Filter | { ids: string[] };

// useDeliveryAction holds, releases, drops or replays deliveries: some, or all that fit.
export function useDeliveryAction(onSuccess?: (count: number) => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (c: { action: DeliveryAction; which: Choice }) =>
      send<Schemas['Changed']>('POST', '/deliveries/actions', { action: c.action, ...c.which }),
    onSuccess: (changed) => onSuccess?.(changed.count),
    onSettled: () =>
      Promise.all([cache.invalidateQueries({ queryKey: ['deliveries'] }), cache.invalidateQueries({ queryKey: ['endpoints'] })]),
  });
}
