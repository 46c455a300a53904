import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import { Plus, TriangleAlert, X } from 'lucide-react';
import { useSources } from '../../api/events';
import { Panel } from '../../parts/elements';
import { SuggestInput } from '../../parts/SuggestInput';
import { type Clause, operators } from '../../parts/trigger';
import type { Fields } from './fields';
import { useRecent } from './trial';

const narrow = { minWidth: '8rem' };

// MatchFields say which events a trigger is for.
export function MatchFields({ draft: d, wrong, change }: Fields) {
  const recent = useRecent();
  const sources = useSources();
  const selective = d.where.length > 0 || [d.type, d.source, d.agent, d.tags, d.min, d.max].some((text) => text.trim() !== '');
  const set = (i: number, c: Partial<Clause>) => change({ where: d.where.map((w, at) => (at === i ? { ...w, ...c } : w)) });
  return (
    <Panel title="When" pad>
      <div className="stack">
        <p className="small soft">An event must match all conditions. * matches any text.</p>
        {!selective && (
          <p className="row plain small" role="status">
            <TriangleAlert size={15} color="var(--warn)" aria-hidden /> Without a condition, every event runs the action.
          </p>
        )}
        <div className="row" style={{ alignItems: 'flex-start' }}>
          <SuggestInput
            className="grow"
            style={narrow}
            label="Type"
            placeholder="any"
            value={d.type}
            change={(type) => change({ type })}
            known={recent.map((e) => e.type)}
          />
          <SuggestInput
            className="grow"
            style={narrow}
            label="Source"
            placeholder="any"
            value={d.source}
            change={(source) => change({ source })}
            known={[...(sources.data?.map((s) => s.id) ?? []), ...recent.map((e) => e.source)]}
          />
          <SuggestInput
            className="grow"
            style={narrow}
            label="Agent"
            placeholder="any"
            value={d.agent}
            change={(agent) => change({ agent })}
            known={recent.map((e) => e.agent ?? '')}
          />
        </div>
        <div className="row" style={{ alignItems: 'flex-start' }}>
          <TextInput
            className="grow"
            style={narrow}
            label="Tags"
            placeholder="a, b"
            value={d.tags}
            onChange={(e) => change({ tags: e.currentTarget.value })}
          />
          <TextInput
            className="grow"
            style={narrow}
            label="Min score"
            inputMode="decimal"
            value={d.min}
            error={wrong.min}
            onChange={(e) => change({ min: e.currentTarget.value })}
          />
          <TextInput
            className="grow"
            style={narrow}
            label="Max score"
            inputMode="decimal"
            value={d.max}
            error={wrong.max}
            onChange={(e) => change({ max: e.currentTarget.value })}
          />
        </div>
        {d.where.map((w, i) => (
          <div key={i} className="row" style={{ alignItems: 'flex-start' }}>
            <TextInput
              className="grow mono"
              style={narrow}
              aria-label={`Field of condition ${i + 1}`}
              placeholder="data.issue.state"
              value={w.field}
              error={wrong[`where ${w.field}`]}
              onChange={(e) => set(i, { field: e.currentTarget.value })}
            />
            <NativeSelect
              aria-label={`Comparison of condition ${i + 1}`}
              value={w.op}
              data={operators}
              onChange={(e) => set(i, { op: e.currentTarget.value })}
            />
            <TextInput
              className="grow mono"
              style={narrow}
              aria-label={`Value of condition ${i + 1}`}
              placeholder={w.op === 'in' ? '["open", "new"]' : 'open'}
              value={w.value}
              onChange={(e) => set(i, { value: e.currentTarget.value })}
            />
            <ActionIcon
              size="input-sm"
              aria-label={`Remove condition ${i + 1}`}
              onClick={() => change({ where: d.where.filter((_, at) => at !== i) })}
            >
              <X size={15} />
            </ActionIcon>
          </div>
        ))}
        <div>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<Plus size={13} />}
            onClick={() => change({ where: [...d.where, { field: 'data.', op: '=', value: '' }] })}
          >
            Add a condition
          </Button>
        </div>
      </div>
    </Panel>
  );
}
