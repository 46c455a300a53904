import { Button, Modal, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, send } from '../../api/client';
import type { Filter } from '../../api/events';
import { type DeliveryAction, many, stateNames } from '../../parts/deliveries';
import { absolute, count } from '../../parts/format';
import { ErrorCard } from '../../parts/states';
import { useDeliveryAction } from './useDeliveryAction';

const acts: { value: DeliveryAction; label: string; verb: string; about: string }[] = [
  {
    value: 'replay',
    label: 'Replay',
    verb: 'Replay',
    about: 'Makes the deliveries again with the same IDs, those of one agent in order.',
  },
  { value: 'release', label: 'Resume', verb: 'Resume', about: 'Paused deliveries continue at once.' },
  { value: 'hold', label: 'Pause', verb: 'Pause', about: 'No attempt is made until they are resumed.' },
  { value: 'drop', label: 'Discard', verb: 'Discard', about: 'Ends the deliveries. Those that wait behind them continue.' },
];

const most = 10_000;

// BulkActions does one thing with all deliveries that a filter chooses, once somebody has
// seen how many that are.
export function BulkActions({ filter, close }: { filter: Filter; close: () => void }) {
  const [act, setAct] = useState<DeliveryAction>('replay');
  const chosen = acts.find((a) => a.value === act) ?? acts[0];
  const would = useQuery({
    queryKey: ['deliveries', 'would', act, filter],
    queryFn: ({ signal }) =>
      send<Schemas['Changed']>('POST', '/deliveries/actions', { action: act, dry_run: true, ...filter }, { signal }).then((c) => c.count),
  });
  const change = useDeliveryAction();
  if (change.data)
    return (
      <div className="stack">
        <p role="status">
          Done with {many(change.data.count)}. {change.data.count === most && 'There may be more: run the action again.'}
        </p>
        <div className="acts">
          <Button onClick={close}>Close</Button>
        </div>
      </div>
    );
  const n = would.data;
  return (
    <div className="stack">
      <NativeSelect
        label="Action"
        description={chosen?.about}
        value={act}
        onChange={(e) => setAct(e.currentTarget.value as DeliveryAction)}
        data={acts.map(({ value, label }) => ({ value, label }))}
      />
      <dl className="facts">
        {Object.entries(filter).map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{names[name] ?? name}</dt>
            <dd>{written(name, value ?? '')}</dd>
          </div>
        ))}
      </dl>
      {(would.error || change.error) && <ErrorCard error={change.error ?? would.error} />}
      <p role="status">
        {n === undefined
          ? 'Counting…'
          : n === 0
            ? 'The action applies to no delivery.'
            : n > most
              ? `${many(n)} match. The action applies to the first ${count(most)}.`
              : `The action applies to ${many(n)}.`}
      </p>
      <div className="acts">
        <Button
          color={act === 'drop' ? 'red' : undefined}
          disabled={!n}
          loading={change.isPending}
          onClick={() => change.mutate({ action: act, which: filter })}
        >
          {chosen?.verb} {n ? many(Math.min(n, most)) : ''}
        </Button>
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
      </div>
    </div>
  );
}

const names: Record<string, string> = {
  state: 'State',
  event: 'Event',
  trigger: 'Trigger',
  agent: 'Agent',
  tool: 'Tool',
  endpoint: 'Endpoint',
  since: 'Created after',
  until: 'Created before',
};

const written = (name: string, value: string): string =>
  name === 'state' ? (stateNames[value] ?? value) : name === 'since' || name === 'until' ? absolute(new Date(value)) : value;

export function BulkDialog({ filter, opened, close }: { filter: Filter; opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="All listed deliveries">
      {opened && <BulkActions filter={filter} close={close} />}
    </Modal>
  );
}
