import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { send } from '../../api/client';
import type { Endpoint } from '../../api/events';
import { useDeliveryAction } from '../deliveries/useDeliveryAction';

export interface EndpointChange {
  turn: (name: string, to: 'start' | 'stop') => void;
  resume: (name: string) => void;
  error: unknown;
}

// useEndpointChange pauses and resumes delivery endpoints and what is paused of their deliveries.
export function useEndpointChange(): EndpointChange {
  const cache = useQueryClient();
  const turned = useMutation({
    mutationFn: (c: { endpoint: string; to: 'start' | 'stop' }) => send('POST', `/endpoints/${c.to}`, { endpoint: c.endpoint }),
    onSettled: () => Promise.all(['endpoints', 'deliveries'].map((k) => cache.invalidateQueries({ queryKey: [k] }))),
  });
  const release = useDeliveryAction();
  return {
    turn: (endpoint, to) => turned.mutate({ endpoint, to }),
    resume: (endpoint) => release.mutate({ action: 'release', which: { endpoint, state: 'held' } }),
    error: turned.error ?? release.error,
  };
}

// EndpointActions are the buttons of an endpoint.
export function EndpointActions({ e, change }: { e: Endpoint; change: EndpointChange }) {
  const idle = e.state === 'open' || e.state === 'stopped';
  return (
    <>
      {idle && (
        <Button size="compact-sm" variant="default" onClick={() => change.turn(e.lane, 'start')}>
          Start
        </Button>
      )}
      {e.state !== 'stopped' && (
        <Button size="compact-sm" variant="default" onClick={() => change.turn(e.lane, 'stop')}>
          Stop
        </Button>
      )}
      <Button size="compact-sm" variant="default" disabled={e.held === 0} onClick={() => change.resume(e.lane)}>
        Resume paused
      </Button>
    </>
  );
}
