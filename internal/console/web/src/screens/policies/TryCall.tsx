import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, send } from '../../api/client';
import type { PolicyEntry, PolicyRule } from '../../api/policies';
import { Panel } from '../../parts/elements';
import { parseJSON } from '../../parts/parseJSON';
import { type Kind, kinds, withRule } from '../../parts/policy';
import { SuggestInput } from '../../parts/SuggestInput';
import { ErrorCard } from '../../parts/states';
import { useFields } from '../../parts/useFields';
import { End } from './Simulation';

const pause = 400;
const narrow = { minWidth: '7rem' };

// TryCall says what the rules come to for a call that is made up. Nothing is called.
export function TryCall({
  rule,
  place,
  stored,
  known,
  ready,
}: {
  rule: PolicyRule;
  place: string;
  stored: readonly PolicyEntry[];
  known: readonly string[]; // tools, as server/tool
  ready: boolean; // whether the rule can be evaluated
}) {
  const [open, setOpen] = useState(false);
  return (
    <Panel pad>
      <details onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>Try a call</summary>
        {open && <Form rule={rule} place={place} stored={stored} known={known} ready={ready} />}
      </details>
    </Panel>
  );
}

function Form({ rule, place, stored, known, ready }: Parameters<typeof TryCall>[0]) {
  const isResult = rule.phase === 'result';
  const form = useFields({
    kind: rule.kinds?.[0] ?? ('tool' as Kind),
    call: known[0] ?? '',
    agent: '',
    user: '',
    groups: '',
    args: '{}',
    result: '',
  });
  const f = form.fields;
  const args = parseJSON(f.args);
  const wrong =
    args.problem ??
    (args.value !== undefined && (typeof args.value !== 'object' || args.value === null || Array.isArray(args.value))
      ? 'Enter a JSON object.'
      : undefined);
  const groups = f.groups
    .split(',')
    .map((g) => g.trim())
    .filter(Boolean);
  const [asked] = useDebouncedValue(
    JSON.stringify({
      rules: withRule(stored, { ...rule, mode: undefined }, place),
      cases: [
        {
          kind: f.kind,
          call: f.call.trim(),
          args: args.value,
          principal: { agent: f.agent.trim() || undefined, user: f.user.trim() || undefined, groups: groups.length ? groups : undefined },
          result: isResult ? { content: [{ type: 'text', text: f.result }] } : undefined,
          expect: 'made', // what is expected is asked for, but not looked at
        },
      ],
    }),
    pause,
  );
  const complete = /^[^/]+\/./.test(f.call.trim()) && !wrong;
  const test = useQuery({
    queryKey: ['policy-test', asked],
    queryFn: async ({ signal }) =>
      (await send<{ results: Schemas['PolicyCaseResult'][] }>('POST', '/policies/test', JSON.parse(asked), { signal })).results[0],
    enabled: ready && complete,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  });
  return (
    <div className="stack" style={{ marginTop: '0.75rem' }}>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <NativeSelect
          style={narrow}
          label="Kind"
          value={f.kind}
          onChange={(e) => form.edit({ kind: e.currentTarget.value as Kind })}
          data={[...kinds]}
        />
        <SuggestInput
          className="grow"
          style={narrow}
          label="Call"
          placeholder="demo/echo"
          value={f.call}
          known={known}
          change={(call) => form.edit({ call })}
        />
      </div>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput className="grow" style={narrow} label="By the agent" placeholder="none" {...form.text('agent')} />
        <TextInput className="grow" style={narrow} label="By the user" placeholder="none" {...form.text('user')} />
        <TextInput className="grow" style={narrow} label="Groups" placeholder="none" {...form.text('groups')} />
      </div>
      <div className="editor">
        <Textarea label="Arguments" autosize minRows={2} maxRows={10} spellCheck={false} error={wrong} {...form.text('args')} />
      </div>
      {isResult && <Textarea label="Text of the result" autosize minRows={2} maxRows={10} spellCheck={false} {...form.text('result')} />}
      {test.error ? (
        <ErrorCard error={test.error} />
      ) : (
        <p role="status" className="small">
          {!ready ? (
            'Fix the rule first.'
          ) : wrong ? (
            'Fix the arguments first.'
          ) : !complete ? (
            'Enter a call as server/tool.'
          ) : test.data ? (
            <>
              It would be <End end={test.data.got} />
              {test.data.rule && ` by ${test.data.rule === rule.name ? 'this rule' : test.data.rule}`}.
            </>
          ) : (
            'Evaluating…'
          )}
        </p>
      )}
    </div>
  );
}
