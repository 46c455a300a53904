import { Checkbox, TextInput } from '@mantine/core';
import type { Draft } from '../../parts/trigger';
import type { Fields } from './fields';

const numbers: { name: 'attempts' | 'timeout' | 'batch' | 'wait' | 'skip' | 'tries'; label: string; placeholder: string }[] = [
  { name: 'attempts', label: 'Attempts', placeholder: 'full schedule' },
  { name: 'timeout', label: 'Timeout in seconds', placeholder: '30' },
  { name: 'skip', label: 'Failures before later calls may pass', placeholder: 'never' },
  { name: 'tries', label: 'Attempts to fetch the file', placeholder: '3' },
  { name: 'batch', label: 'Batch size', placeholder: '1' },
  { name: 'wait', label: 'Batch window in seconds', placeholder: '0' },
];

const switches: { name: 'retry' | 'sign' | 'raise' | 'file' | 'verify'; label: string }[] = [
  { name: 'retry', label: 'Retry if the tool reports an error' },
  { name: 'sign', label: 'Sign with Standard Webhooks' },
  { name: 'raise', label: 'Make an event from the response' },
  { name: 'file', label: 'Send the content of the file of the event' },
  { name: 'verify', label: 'Send only if the file matches the hash of the event' },
];

const set = (d: Draft): boolean => d.order !== '' || numbers.some((n) => d[n.name] !== '') || switches.some((s) => d[s.name]);

// DeliveryOptions says how hard to try, and what goes along. Most triggers say nothing of
// it.
export function DeliveryOptions({ draft: d, wrong, change }: Fields) {
  const faulty = wrong.order !== undefined || [...numbers, ...switches].some((f) => wrong[f.name]);
  return (
    <details open={faulty || set(d) || undefined}>
      <summary className="small soft">Retries, order, batches, signatures and files</summary>
      <div className="stack" style={{ marginTop: '0.75rem' }}>
        <div className="row" style={{ alignItems: 'flex-start' }}>
          {numbers.map((n) => (
            <TextInput
              key={n.name}
              className="grow"
              style={{ minWidth: '8rem' }}
              label={n.label}
              placeholder={n.placeholder}
              inputMode="numeric"
              value={d[n.name]}
              error={wrong[n.name]}
              onChange={(e) => change({ [n.name]: e.currentTarget.value })}
            />
          ))}
        </div>
        <TextInput
          label="Order key"
          description="Calls with the same key are made one at a time, in the order of their events, across triggers."
          placeholder="agent of the event; for example {{data.account}}"
          value={d.order}
          error={wrong.order}
          onChange={(e) => change({ order: e.currentTarget.value })}
        />
        {switches.map((s) => (
          <Checkbox
            key={s.name}
            label={s.label}
            checked={d[s.name]}
            error={wrong[s.name]}
            onChange={(e) => change({ [s.name]: e.currentTarget.checked })}
          />
        ))}
      </div>
    </details>
  );
}
