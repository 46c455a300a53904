import { Button, NativeSelect, NumberInput, SegmentedControl, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Agent } from '../../api/client';
import { type Brain as StoredBrain, type TurnLimits, useModels } from '../../api/models';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';

const limitsOf: { key: keyof TurnLimits; label: string; usual?: number; most: number }[] = [
  { key: 'turns', label: 'Turns', usual: 8, most: 100 },
  { key: 'calls', label: 'Tool calls', usual: 16, most: 1000 },
  { key: 'call_seconds', label: 'Seconds per call', most: 600 },
  { key: 'seconds', label: 'Seconds in total', usual: 600, most: 3600 },
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

type Fields = StoredBrain & { kind: string };

const fieldsOf = (a: Agent): Fields => ({ ...a.brain, kind: a.brain?.rules ? 'rules' : 'model' });

// brainOf is the brain that the fields describe.
function brainOf({ kind, model, instructions, rules, limits: all }: Fields): StoredBrain {
  const limits = Object.fromEntries(Object.entries(all ?? {}).filter(([, v]) => v)) as TurnLimits;
  return { ...(kind === 'rules' ? { rules } : { model, instructions }), ...(Object.keys(limits).length > 0 ? { limits } : {}) };
}

// Brain is what an agent answers with when somebody talks to it: a model, or
// rules that need none.
export function Brain({ a, may, busy, takeAway }: { a: Agent; may: boolean; busy: boolean; takeAway: () => void }) {
  const models = useModels(may);
  const cache = useQueryClient();
  const form = useEdits(a, fieldsOf);
  const { kind, ...b } = form.fields;
  const brain = a.brain;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/agents/${a.name}`],
    bodyOf: (fields) => ({ brain: brainOf(fields) }),
    done: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  const names = models.data?.map((m) => m.name) ?? [];
  const whole = kind === 'rules' ? !!b.rules?.trim() : !!b.model;
  return (
    <Panel pad>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          saving.save();
        }}
      >
        <p className="soft">
          {brain
            ? 'The agent answers users in rooms and runs.'
            : 'The agent cannot answer yet. Only clients with their own model can use it.'}{' '}
          Its calls pass the same checks as on its endpoint.
        </p>
        <SegmentedControl
          aria-label="Model or rules"
          style={{ alignSelf: 'flex-start' }}
          value={kind}
          disabled={!may}
          data={[
            { value: 'model', label: 'Model' },
            { value: 'rules', label: 'Rules' },
          ]}
          onChange={(k) => {
            form.edit({ kind: k, ...(k === 'rules' && !b.rules ? { rules: example } : {}) });
          }}
        />
        {kind === 'model' ? (
          <>
            <NativeSelect
              label="Model"
              disabled={!may}
              value={b.model ?? ''}
              data={[{ value: '', label: 'Choose a model' }, ...(b.model && !names.includes(b.model) ? [b.model] : []), ...names]}
              onChange={(e) => form.edit({ model: e.currentTarget.value })}
            />
            {models.data?.length === 0 && (
              <p className="small">
                No models yet:{' '}
                <Link className="link" href="/models?new=1">
                  add a model
                </Link>
                .
              </p>
            )}
            <Textarea
              label="Instructions"
              description="System prompt of the model."
              autosize
              minRows={4}
              maxRows={20}
              disabled={!may}
              value={b.instructions ?? ''}
              onChange={(e) => form.edit({ instructions: e.currentTarget.value })}
            />
          </>
        ) : (
          <Textarea
            className="editor"
            label="Rules"
            description="YAML with patterns for messages, the calls to make, and the answer."
            autosize
            minRows={8}
            maxRows={30}
            disabled={!may}
            value={b.rules ?? ''}
            onChange={(e) => form.edit({ rules: e.currentTarget.value })}
          />
        )}
        <fieldset className="plain">
          <legend className="label">Limits per answer</legend>
          <div className="columns">
            {limitsOf.map((l) => (
              <NumberInput
                key={l.key}
                label={l.label}
                placeholder={l.usual?.toLocaleString('en') ?? 'limits of the tool'}
                min={1}
                max={l.most}
                hideControls
                disabled={!may}
                value={b.limits?.[l.key] ?? ''}
                onChange={(v) => form.edit({ limits: { ...b.limits, [l.key]: v === '' ? undefined : Number(v) } })}
              />
            ))}
          </div>
        </fieldset>
        {may && (
          <div className="acts">
            <Button type="submit" disabled={!whole} loading={saving.busy}>
              Save
            </Button>
            {brain && (
              <Button variant="default" disabled={busy || saving.busy} onClick={takeAway}>
                {brain.rules ? 'Remove the rules' : 'Remove the model'}
              </Button>
            )}
          </div>
        )}
        {saving.error !== null && <ErrorCard error={saving.error} />}
        {saving.dialog}
      </form>
    </Panel>
  );
}
