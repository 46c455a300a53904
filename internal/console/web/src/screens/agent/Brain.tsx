import { Button, NativeSelect, NumberInput, SegmentedControl, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { type Brain as Thoughts, type TurnLimits, useModels } from '../../api/models';
import { Panel } from '../../parts/bits';

const limitsOf: { key: keyof TurnLimits; label: string; usual: number; most: number }[] = [
  { key: 'turns', label: 'Turns', usual: 8, most: 100 },
  { key: 'calls', label: 'Calls of tools', usual: 16, most: 1000 },
  { key: 'call_seconds', label: 'Seconds for a call', usual: 60, most: 600 },
  { key: 'seconds', label: 'Seconds in all', usual: 600, most: 3600 },
  { key: 'tokens', label: 'Tokens', usual: 200_000, most: 10_000_000 },
];

const example = `intents:
  - name: sum
    match: '(?P<a>\\d+) (plus|and) (?P<b>\\d+)'
    calls:
      - tool: demo__add
        arguments: {a: "{{a|number}}", b: "{{b|number}}"}
        as: sum
    say: "It is {{sum}}."
fallback: "Give me two numbers, {{speaker}}."
`;

// Brain is what an agent answers with when somebody talks to it: a model, or
// rules that need none.
export function Brain({
  brain,
  may,
  busy,
  save,
}: {
  brain: Thoughts | undefined;
  may: boolean;
  busy: boolean;
  save: (b: Thoughts | null) => void;
}) {
  const models = useModels(may);
  const [kind, setKind] = useState(brain?.rules ? 'rules' : 'model');
  const [b, setB] = useState<Thoughts>(brain ?? {});
  const names = models.data?.map((m) => m.name) ?? [];
  const whole = kind === 'rules' ? !!b.rules?.trim() : !!b.model;
  const limits = Object.fromEntries(Object.entries(b.limits ?? {}).filter(([, v]) => v)) as TurnLimits;
  return (
    <Panel pad>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          save({
            ...(kind === 'rules' ? { rules: b.rules } : { model: b.model, instructions: b.instructions }),
            ...(Object.keys(limits).length > 0 ? { limits } : {}),
          });
        }}
      >
        <p className="soft">
          {brain ? 'It answers who talks to it.' : 'It cannot answer yet: it is only for clients that bring a model of their own.'} What it
          calls while it does passes the same gates as on its door.
        </p>
        <SegmentedControl
          aria-label="What it answers with"
          style={{ alignSelf: 'flex-start' }}
          value={kind}
          disabled={!may}
          data={[
            { value: 'model', label: 'A model' },
            { value: 'rules', label: 'Rules, no model' },
          ]}
          onChange={(k) => {
            setKind(k);
            if (k === 'rules' && !b.rules) setB({ ...b, rules: example });
          }}
        />
        {kind === 'model' ? (
          <>
            <NativeSelect
              label="Model"
              disabled={!may}
              value={b.model ?? ''}
              data={[{ value: '', label: 'choose one' }, ...(b.model && !names.includes(b.model) ? [b.model] : []), ...names]}
              onChange={(e) => setB({ ...b, model: e.currentTarget.value })}
            />
            {models.data?.length === 0 && (
              <p className="small">
                There is none yet:{' '}
                <Link className="link" href="/models?new=1">
                  add a model
                </Link>
                .
              </p>
            )}
            <Textarea
              label="Instructions"
              description="What the model is told before all else."
              autosize
              minRows={4}
              maxRows={20}
              disabled={!may}
              value={b.instructions ?? ''}
              onChange={(e) => setB({ ...b, instructions: e.currentTarget.value })}
            />
          </>
        ) : (
          <Textarea
            className="editor"
            label="Rules"
            description="YAML: patterns for what people say, the calls that are then made, and the answer."
            autosize
            minRows={8}
            maxRows={30}
            disabled={!may}
            value={b.rules ?? ''}
            onChange={(e) => setB({ ...b, rules: e.currentTarget.value })}
          />
        )}
        <fieldset className="plain">
          <legend className="label">At most, for one answer</legend>
          <div className="columns">
            {limitsOf.map((l) => (
              <NumberInput
                key={l.key}
                label={l.label}
                placeholder={l.usual.toLocaleString('en')}
                min={1}
                max={l.most}
                hideControls
                disabled={!may}
                value={b.limits?.[l.key] ?? ''}
                onChange={(v) => setB({ ...b, limits: { ...b.limits, [l.key]: v === '' ? undefined : Number(v) } })}
              />
            ))}
          </div>
        </fieldset>
        {may && (
          <div className="acts">
            <Button type="submit" disabled={!whole} loading={busy}>
              Save
            </Button>
            {brain && (
              <Button variant="default" disabled={busy} onClick={() => save(null)}>
                Take it away
              </Button>
            )}
          </div>
        )}
      </form>
    </Panel>
  );
}
