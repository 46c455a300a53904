import { Checkbox, NativeSelect, Textarea } from '@mantine/core';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { Panel } from '../../parts/elements';
import { count, counted } from '../../parts/format';
import { type Draft, type Kind, kinds, type Phase, phaseNames, verdictsOf, type Wrong } from '../../parts/policy';

// Fields are what each part of the form of a rule reads and changes.
export interface Fields {
  draft: Draft;
  wrong: Wrong;
  change: (c: Partial<Draft>) => void;
}

const kindNames: Record<string, string> = {
  tool: 'Tools',
  resource: 'Resources',
  prompt: 'Prompts',
  completion: 'Completions',
  subscription: 'Subscriptions',
};

const named = 4; // tools

// TargetFields say which calls a rule is about.
export function TargetFields({
  draft: d,
  wrong,
  change,
  matched,
}: Fields & { matched: readonly { server: string; name: string }[] | undefined }) {
  const me = useMe().data;
  const operator = can(me, 'admin') && me?.tenant === 'default';
  const patterns = (name: 'items' | 'agents' | 'users' | 'tenants', label: string, about: string, placeholder: string) => (
    <div className="editor grow" style={{ minWidth: '10rem' }}>
      <Textarea
        label={label}
        description={about}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder={placeholder}
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
        value={d[name]}
        error={wrong[name]}
        onChange={(e) => change({ [name]: e.currentTarget.value })}
      />
    </div>
  );
  const toggle = (k: Kind, on: boolean) => change({ kinds: on ? [...d.kinds, k] : d.kinds.filter((x) => x !== k) });
  return (
    <Panel title="Calls" pad>
      <div className="stack">
        <div className="row" style={{ alignItems: 'flex-start', gap: '0.75rem 1.25rem' }}>
          <NativeSelect
            label="Evaluated"
            value={d.phase}
            data={Object.entries(phaseNames).map(([value, label]) => ({ value, label }))}
            onChange={(e) => {
              const phase = e.currentTarget.value as Phase;
              change({ phase, ...(verdictsOf(phase).includes(d.verdict) ? {} : { verdict: verdictsOf(phase)[0] as Draft['verdict'] }) });
            }}
          />
          <fieldset className="plain">
            <legend className="label">Kinds</legend>
            <div className="row" style={{ gap: '0.5rem 1rem' }}>
              {kinds.map((k) => (
                <Checkbox
                  key={k}
                  size="xs"
                  label={kindNames[k]}
                  checked={d.kinds.includes(k)}
                  onChange={(e) => toggle(k, e.currentTarget.checked)}
                />
              ))}
            </div>
          </fieldset>
        </div>
        {patterns('items', 'Tools and resources', 'One server/tool in a line; * stands for any text. Empty means all.', 'github/*')}
        {matched && (
          <p className="tiny soft wrap">
            {matched.length === 0
              ? 'No tool matches now.'
              : `Matches ${counted(matched.length, 'tool')}: ${matched
                  .slice(0, named)
                  .map((t) => `${t.server}/${t.name}`)
                  .join(', ')}${matched.length > named ? ` and ${count(matched.length - named)} more` : ''}`}
          </p>
        )}
        <div className="row" style={{ alignItems: 'flex-start' }}>
          {patterns('agents', 'Agents', '* is every agent. Empty means every caller.', 'support-*')}
          {patterns('users', 'Users', 'Also if an agent or a program calls for them.', 'ann')}
          {(operator || d.tenants !== '') &&
            patterns('tenants', 'Tenants', 'Makes it an operator’s rule, before those of the tenants.', 'acme')}
        </div>
      </div>
    </Panel>
  );
}
