import { Button, NativeSelect, TextInput } from '@mantine/core';
import { X } from 'lucide-react';
import { useDeferredValue } from 'react';
import { useSearchParams } from 'wouter';
import { type Delivery, type Filter, useTriggers } from '../../api/events';
import { stateNames, states } from '../../parts/deliveries';
import { SuggestInput } from '../../parts/SuggestInput';
import { moment, since, stretches } from '../../parts/timeRange';
import { useParam } from '../../parts/url';

const own = ['state', 'event', 'trigger', 'agent', 'tool', 'endpoint', 'back', 'from', 'to'];

// useFilter is what the address says that deliveries are wanted of, as the API
// takes it. A state that is fixed is not in the address.
export function useFilter(fixed?: Delivery['state']): Filter {
  const [params] = useSearchParams();
  const at = (name: string) => params.get(name) ?? '';
  const window = at('back') === 'window';
  return useDeferredValue({
    state: fixed ?? at('state'),
    event: at('event'),
    trigger: at('trigger'),
    agent: at('agent'),
    tool: at('tool'),
    endpoint: at('endpoint'),
    since: window ? moment(at('from')) : since(at('back')),
    until: window ? moment(at('to')) : undefined,
  });
}

// activeFilter is a filter without what does not matter.
export const activeFilter = (filter: Filter): Filter => Object.fromEntries(Object.entries(filter).filter(([, v]) => v));

export function Filters({ list, fixed }: { list: readonly Delivery[]; fixed?: Delivery['state'] }) {
  const [params, setParams] = useSearchParams();
  const triggers = useTriggers();
  const [state, setState] = useParam('state');
  const [trigger, setTrigger] = useParam('trigger');
  const [agent, setAgent] = useParam('agent');
  const [tool, setTool] = useParam('tool');
  const [endpoint, setEndpoint] = useParam('endpoint');
  const [event, setEvent] = useParam('event');
  const [back, setBack] = useParam('back');
  const [from, setFrom] = useParam('from');
  const [to, setTo] = useParam('to');
  const filtered = own.some((k) => params.has(k));
  return (
    <div className="row">
      {!fixed && (
        <NativeSelect
          aria-label="State"
          value={state}
          onChange={(e) => setState(e.currentTarget.value)}
          data={[{ value: '', label: 'Any state' }, ...states.map((s) => ({ value: s, label: stateNames[s] ?? s }))]}
        />
      )}
      <NativeSelect
        aria-label="Trigger"
        value={trigger}
        onChange={(e) => setTrigger(e.currentTarget.value)}
        data={[{ value: '', label: 'Any trigger' }, ...new Set([...(triggers.data?.map((t) => t.name) ?? []), trigger].filter(Boolean))]}
      />
      <SuggestInput
        className="grow"
        style={{ minWidth: '7rem' }}
        aria-label="Agent"
        placeholder="Agent"
        value={agent}
        change={setAgent}
        known={list.map((d) => d.agent ?? '')}
      />
      <SuggestInput
        className="grow"
        style={{ minWidth: '7rem' }}
        aria-label="Tool"
        placeholder="Tool"
        value={tool}
        change={setTool}
        known={list.map((d) => d.tool)}
      />
      <NativeSelect
        aria-label="Time range"
        value={back}
        onChange={(e) => setBack(e.currentTarget.value)}
        data={[...stretches, { value: 'window', label: 'Custom range' }]}
      />
      {back === 'window' && (
        <>
          <TextInput type="datetime-local" aria-label="Created at or after" value={from} onChange={(e) => setFrom(e.currentTarget.value)} />
          <TextInput type="datetime-local" aria-label="Created before" value={to} onChange={(e) => setTo(e.currentTarget.value)} />
        </>
      )}
      {event && <Chosen name={`event ${event.slice(0, 8)}…`} drop={() => setEvent('')} />}
      {endpoint && <Chosen name={endpoint} drop={() => setEndpoint('')} />}
      {filtered && (
        <Button variant="subtle" color="gray" onClick={() => setParams({}, { replace: true })}>
          Clear
        </Button>
      )}
    </div>
  );
}

const Chosen = ({ name, drop }: { name: string; drop: () => void }) => (
  <Button variant="light" rightSection={<X size={13} />} onClick={drop} title="Remove this filter">
    {name}
  </Button>
);
