import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { Panel } from '../../parts/elements';
import { type Draft, detectors, type Verdict, verdictNames, verdictNotes, verdictsOf } from '../../parts/policy';
import type { Fields } from './TargetFields';

const narrow = { minWidth: '10rem' };

// VerdictFields say what a rule does with the calls that it matches.
export function VerdictFields({ draft: d, wrong, change }: Fields) {
  const denies = d.verdict === 'deny' || d.verdict === 'ask' || d.filtered;
  return (
    <Panel title="Then" pad>
      <div className="stack">
        <NativeSelect
          label="Verdict"
          description={verdictNotes[d.verdict]}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={d.verdict}
          data={verdictsOf(d.phase).map((value) => ({ value, label: verdictNames[value] }))}
          onChange={(e) => change({ verdict: e.currentTarget.value as Verdict })}
        />
        {denies && (
          <TextInput
            label="Message"
            placeholder="What the caller receives as the reason"
            value={d.message}
            error={wrong.message}
            onChange={(e) => change({ message: e.currentTarget.value })}
          />
        )}
        {d.verdict === 'redact' && (
          <>
            <fieldset className="plain">
              <legend className="label">Redact</legend>
              <div className="row" style={{ gap: '0.5rem 1rem' }}>
                {detectors.map(([name, label]) => (
                  <Checkbox
                    key={name}
                    size="xs"
                    label={label}
                    checked={d.detectors.includes(name)}
                    onChange={(e) =>
                      change({ detectors: e.currentTarget.checked ? [...d.detectors, name] : d.detectors.filter((x) => x !== name) })
                    }
                  />
                ))}
              </div>
            </fieldset>
            <div className="editor">
              <Textarea
                label="Patterns"
                description="Regular expressions (RE2), one in a line"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                placeholder="ACME-\d{6}"
                autosize
                minRows={1}
                maxRows={8}
                spellCheck={false}
                value={d.patterns}
                error={wrong.patterns}
                onChange={(e) => change({ patterns: e.currentTarget.value })}
              />
            </div>
          </>
        )}
        {d.verdict === 'cut' && (
          <TextInput
            label="Size in bytes"
            inputMode="numeric"
            placeholder="10000"
            value={d.max}
            error={wrong.max}
            onChange={(e) => change({ max: e.currentTarget.value })}
          />
        )}
        <Checkbox
          label="A webhook decides about calls that match"
          checked={d.filtered}
          onChange={(e) => change({ filtered: e.currentTarget.checked })}
        />
        {d.filtered && (
          <div className="group stack">
            <TextInput
              label="Address"
              placeholder="https://decide.example.com/calls"
              required
              value={d.url}
              error={wrong.url}
              onChange={(e) => change({ url: e.currentTarget.value })}
            />
            <div className="row" style={{ alignItems: 'flex-start' }}>
              <TextInput
                className="grow"
                style={narrow}
                label="Secret"
                description="Reference that signs the requests"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                placeholder="env:POLICY_SECRET"
                value={d.secret}
                error={wrong.secret}
                onChange={(e) => change({ secret: e.currentTarget.value })}
              />
              <TextInput
                className="grow"
                style={narrow}
                label="Timeout"
                placeholder="2s"
                value={d.timeout}
                error={wrong.timeout}
                onChange={(e) => change({ timeout: e.currentTarget.value })}
              />
              <NativeSelect
                className="grow"
                style={narrow}
                label="If it does not answer"
                value={d.failure}
                data={[
                  { value: 'deny', label: 'Deny the call' },
                  { value: 'allow', label: 'Make the call' },
                ]}
                onChange={(e) => change({ failure: e.currentTarget.value as Draft['failure'] })}
              />
            </div>
          </div>
        )}
      </div>
    </Panel>
  );
}
