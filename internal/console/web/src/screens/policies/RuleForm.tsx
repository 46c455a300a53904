import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { Failure, query } from '../../api/client';
import { useMe, useTools } from '../../api/data';
import { type PolicyEntry, useToolDefinitions } from '../../api/policies';
import { can } from '../../app/permissions';
import { argumentsOf } from '../../parts/condition';
import { Panel, Tag } from '../../parts/elements';
import {
  bodyOf,
  checkableRule,
  type Draft,
  draftOf,
  messageOf,
  missingIn,
  nameless,
  placeQuery,
  targetsTool,
  type Wrong,
  wrongIn,
} from '../../parts/policy';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { ConditionEditor } from './ConditionEditor';
import { Simulation } from './Simulation';
import { TargetFields } from './TargetFields';
import { TryCall } from './TryCall';
import { useCheck, wrongOf } from './useCheck';
import { VerdictFields } from './VerdictFields';

const mostRead = 25; // tools whose arguments are offered
const mostKnown = 200; // tools that are offered to be tried

// RuleForm makes a rule, or changes the one of a name. While somebody writes, the rule is
// checked against the tools of its target and simulated on recorded calls.
export function RuleForm({
  had,
  of,
  stored,
  fixed = false,
}: {
  had: Draft;
  of?: PolicyEntry;
  stored: readonly PolicyEntry[];
  fixed?: boolean; // nobody may change it here
}) {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const me = useMe().data;
  const mayCheck = can(me, 'policy:write') && !of?.restricted;
  const name = of?.name;
  const fieldsOf = (r: Partial<PolicyEntry>): Draft => (of ? draftOf(r) : had);
  const form = useEdits<Partial<PolicyEntry>, Draft>(of ?? {}, fieldsOf);
  const draft = form.fields;
  const check = useCheck(draft, mayCheck);
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PUT', `/policies/${encodeURIComponent(name ?? draft.name)}${query(placeQuery(draft.place))}`],
    bodyOf: (fields) => bodyOf(fields),
    done: async (r) => {
      await cache.invalidateQueries({ queryKey: ['policies'] });
      navigate(`/policies/${r.name}`);
    },
    labels,
  });
  const taken = useMemo(() => (name === undefined ? stored.filter((r) => !r.restricted).map((r) => r.name) : []), [stored, name]);
  const refused = saving.error instanceof Failure ? wrongOf(saving.error) : {};
  const wrong: Wrong = { ...check.wrong, ...refused, ...wrongIn(draft, taken) };
  const missing = missingIn(draft);
  const unplaced = saving.error && (!(saving.error instanceof Failure) || saving.error.problem.code !== 'invalid' || wrong.other);
  const change = (c: Partial<Draft>) => {
    saving.clear();
    form.edit(c);
  };

  // The arguments of the tools that the target matches are read when they are needed.
  const [writes, setWrites] = useState(false);
  const tools = useTools('', mayCheck);
  const matched = useMemo(() => (tools.data ?? []).filter((t) => targetsTool(draft.items, t)), [tools.data, draft.items]);
  const definitions = useToolDefinitions(
    matched.slice(0, mostRead).map((t) => t.exposed),
    writes,
  );
  const isTools = draft.kinds.includes('tool');
  const args = useMemo(
    () => [
      ...(isTools ? argumentsOf(definitions.map((t) => t.input_schema)) : []),
      ...(draft.kinds.includes('resource') ? [{ name: 'uri', type: 'text', about: 'URI of the resource' } as const] : []),
    ],
    [definitions, isTools, draft.kinds],
  );
  const rule = { ...checkableRule(draft), name: name ?? (draft.name || 'new-rule') };
  const waits = !mayCheck
    ? ''
    : check.condition.length > 0
      ? 'Fix the condition first.'
      : Object.keys(wrong).length > 0
        ? 'Fix the fields of the rule first.'
        : missing === nameless
          ? ''
          : missing;
  const others = stored.filter((r) => r.name !== name && !r.restricted && !r.declared && !r.operators);

  return (
    <div className={mayCheck ? 'columns wide-left' : ''}>
      <form
        aria-label="Rule"
        onSubmit={(e) => {
          e.preventDefault();
          if (!fixed) saving.save();
        }}
      >
        <fieldset className="bare" disabled={fixed}>
          <div className="stack" style={{ gap: '1.125rem' }}>
            <Panel title="Rule" pad>
              <div className="row" style={{ alignItems: 'flex-start' }}>
                {name === undefined && (
                  <TextInput
                    className="grow"
                    style={narrow}
                    label="Name"
                    placeholder="no-large-amounts"
                    required
                    value={draft.name}
                    error={wrong.name}
                    onChange={(e) => change({ name: e.currentTarget.value })}
                  />
                )}
                <TextInput
                  className="grow"
                  style={narrow}
                  label="Title"
                  placeholder="Purpose of the rule"
                  value={draft.title}
                  maxLength={200}
                  onChange={(e) => change({ title: e.currentTarget.value })}
                />
              </div>
            </Panel>
            <TargetFields
              draft={draft}
              wrong={wrong}
              change={change}
              matched={mayCheck && isTools ? (tools.data ? matched : undefined) : undefined}
            />
            <Panel title="When" pad>
              <ConditionEditor
                value={draft.when}
                change={(when) => change({ when })}
                phase={draft.phase}
                args={args}
                problems={check.condition}
                checked={check.when}
                focused={() => setWrites(true)}
                state={
                  mayCheck && draft.when.trim() !== '' && check.done ? (
                    <p>
                      <Tag tone="good">valid</Tag> <span className="tiny soft">{isTools && 'It fits every tool of the target.'}</span>
                    </p>
                  ) : undefined
                }
              />
            </Panel>
            <VerdictFields draft={draft} wrong={wrong} change={change} />
            <Panel title="Mode and order" pad>
              <div className="row" style={{ alignItems: 'flex-start' }}>
                <NativeSelect
                  className="grow"
                  style={narrow}
                  label="Mode"
                  value={draft.mode}
                  onChange={(e) => change({ mode: e.currentTarget.value as Draft['mode'] })}
                  data={[
                    { value: 'enforce', label: 'Enforce' },
                    { value: 'audit', label: 'Audit: only record what it would do' },
                  ]}
                />
                {!of?.operators && (
                  <NativeSelect
                    className="grow"
                    style={narrow}
                    label="Place"
                    description="Rules are evaluated in order"
                    inputWrapperOrder={['label', 'input', 'description', 'error']}
                    value={draft.place}
                    onChange={(e) => change({ place: e.currentTarget.value })}
                    data={[
                      { value: '', label: name === undefined ? 'Last' : 'Keep its place' },
                      ...(others[0] ? [{ value: `before:${others[0].name}`, label: `Before ${others[0].name}` }] : []),
                      ...others.map((r) => ({ value: `after:${r.name}`, label: `After ${r.name}` })),
                    ]}
                  />
                )}
              </div>
            </Panel>
            {check.warnings.length > 0 && (
              <div className="notice" role="status">
                <span className="small">{[...new Set(check.warnings.map(messageOf))].join(' ')}</span>
              </div>
            )}
            {unplaced ? <ErrorCard error={saving.error} /> : null}
            {saving.dialog}
            {!fixed && (
              <div className="acts">
                <Button
                  type="submit"
                  disabled={
                    missing !== '' ||
                    check.condition.length > 0 ||
                    Object.keys(wrong).length > 0 ||
                    (name !== undefined && form.edited.length === 0)
                  }
                  loading={saving.busy}
                >
                  {name === undefined ? 'Add' : 'Save'}
                </Button>
                <span className="small soft">{missing || (check.condition.length > 0 ? 'The condition has a problem.' : '')}</span>
              </div>
            )}
          </div>
        </fieldset>
      </form>
      {mayCheck && (
        <div className="beside-form stack" style={{ gap: '1.125rem' }}>
          <Simulation rule={rule} place={draft.place} stored={stored} waits={waits} ready={check.done} />
          <TryCall
            rule={rule}
            place={draft.place}
            stored={stored}
            known={matched.slice(0, mostKnown).map((t) => `${t.server}/${t.name}`)}
            ready={waits === ''}
          />
        </div>
      )}
    </div>
  );
}

const narrow = { minWidth: '10rem' };

const labels: Record<string, string> = {
  agents: 'Agents',
  detectors: 'Redact',
  failure: 'If the webhook fails',
  filtered: 'A webhook decides',
  items: 'Tools and resources',
  kinds: 'Kinds',
  max: 'Size',
  message: 'Message',
  mode: 'Mode',
  patterns: 'Patterns',
  phase: 'Evaluated',
  secret: 'Secret',
  tenants: 'Tenants',
  timeout: 'Timeout',
  title: 'Title',
  url: 'Address',
  users: 'Users',
  verdict: 'Verdict',
  when: 'Condition',
};
