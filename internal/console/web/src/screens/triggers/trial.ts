import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { send } from '../../api/client';
import { type StoredEvent, type Trial, useEvents } from '../../api/events';
import { parseJSON } from '../../parts/parseJSON';
import { bodyOf, type Draft, ready } from '../../parts/trigger';

// TrialInput is what a trigger is tried with: an event that was taken, by its id, or
// one that is written here.
export interface TrialInput {
  event: string;
  source: string;
  type: string;
  agent: string;
  data: string;
}

const pause = 300;

// useRecent gives the newest events, to try a trigger with.
export const useRecent = (): StoredEvent[] => useEvents({}, 20).all?.slice(0, 20) ?? [];

// useTrial asks what a trigger would do with an event, a moment after somebody
// stopped writing. Nothing is called.
export function useTrial(draft: Draft, tried: TrialInput, enabled: boolean) {
  const recent = useRecent();
  const data = parseJSON(tried.data);
  const [asked] = useDebouncedValue(
    JSON.stringify({
      ...bodyOf(draft),
      name: draft.name || undefined,
      disabled: false,
      event: tried.event
        ? { id: tried.event }
        : { source: tried.source || undefined, type: tried.type || undefined, agent: tried.agent || undefined, data: data.value },
    }),
    pause,
  );
  const trial = useQuery({
    queryKey: ['trial', asked],
    queryFn: ({ signal }) => send<Trial>('POST', '/triggers/test', JSON.parse(asked), { signal }),
    enabled: enabled && ready(draft) && !data.problem,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const sample = tried.event ? recent.find((e) => e.id === tried.event)?.data : data.value;
  return { answer: trial.data, error: trial.error, sample };
}
