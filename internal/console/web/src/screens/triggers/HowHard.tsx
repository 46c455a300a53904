import { Checkbox, TextInput } from '@mantine/core';
import type { Draft } from '../../parts/trigger';
import type { Fields } from './Editor';

const numbers: { name: 'attempts' | 'timeout' | 'batch' | 'wait' | 'skip' | 'tries'; label: string; placeholder: string }[] = [
  { name: 'attempts', label: 'Attempts', placeholder: 'the whole schedule' },
  { name: 'timeout', label: 'Seconds for each', placeholder: '30' },
  { name: 'skip', label: 'Failures before later calls go first', placeholder: 'never' },
  { name: 'tries', label: 'Attempts to get the file', placeholder: '3' },
  { name: 'batch', label: 'Events in one call', placeholder: '1' },
  { name: 'wait', label: 'Seconds to wait for more', placeholder: '0' },
];

const switches: { name: 'retry' | 'sign' | 'raise' | 'file' | 'verify'; label: string }[] = [
  { name: 'retry', label: 'Try again when the tool says that it failed' },
  { name: 'sign', label: 'Sign, as Standard Webhooks says' },
  { name: 'raise', label: 'Make an event of the answer' },
  { name: 'file', label: 'Send the content of the event’s file' },
  { name: 'verify', label: 'Only where the file has the event’s hash' },
];

const set = (d: Draft): boolean => d.order !== '' || numbers.some((n) => d[n.name] !== '') || switches.some((s) => d[s.name]);

// HowHard says how hard to try, and what goes along. Most triggers say nothing of
// it.
export function HowHard({ draft: d, wrong, change }: Fields) {
  const faulty = wrong.order !== undefined || [...numbers, ...switches].some((f) => wrong[f.name]);
  return (
    <details open={faulty || set(d) || undefined}>
      <summary className="small soft">How hard to try, order, several events at once, signatures, answers</summary>
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
          placeholder="the event’s agent; {{data.account}} for example"
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
