import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useTiers } from '../../api/admin';
import type { Agent } from '../../api/client';
import { useRoles } from '../../api/data';
import { Panel } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';

interface Fields {
  title: string;
  role: string;
  tier: string;
  exposure: string;
}
const fieldsOf = (a: Agent): Fields => ({ title: a.title ?? '', role: a.role, tier: a.tier ?? '', exposure: a.exposure ?? '' });

const exposures = [
  { value: '', label: 'As the servers and settings say' },
  { value: 'auto', label: 'Auto' },
  { value: 'all', label: 'All tools' },
  { value: 'search', label: 'Tools that search' },
];

// AgentDetails changes what an agent is called and does, and whose limits it has.
export function AgentDetails({ a, may }: { a: Agent; may: boolean }) {
  const cache = useQueryClient();
  const roles = useRoles();
  const tiers = useTiers();
  const form = useEdits(a, fieldsOf);
  const f = form.fields;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/agents/${a.name}`],
    bodyOf: (fields) => fields,
    done: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  return (
    <Panel title="Details" pad>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          saving.save();
        }}
      >
        <TextInput
          label="Title"
          description="Shown to people and other agents instead of the name. The router of a room reads it too."
          maxLength={100}
          disabled={!may}
          value={f.title}
          onChange={(e) => form.edit({ title: e.currentTarget.value })}
        />
        <div className="columns">
          <NativeSelect
            label="Role"
            description="The kind of work. The agent is offered tools of this role and tools for all roles."
            disabled={!may}
            value={f.role}
            data={[...new Set([f.role, ...(roles.data?.map((r) => r.name) ?? [])])]}
            onChange={(e) => form.edit({ role: e.currentTarget.value })}
          />
          <NativeSelect
            label="Tier"
            description="Sets the limits of its calls, unless it has its own."
            disabled={!may}
            value={f.tier}
            data={[
              { value: '', label: 'Tier of its owner' },
              ...[...new Set([f.tier, ...(tiers.data ?? [])])].filter(Boolean).map((t) => ({ value: t, label: t })),
            ]}
            onChange={(e) => form.edit({ tier: e.currentTarget.value })}
          />
          <NativeSelect
            label="List of tools"
            description="How endpoints that join servers list its tools to MCP clients."
            disabled={!may}
            value={f.exposure}
            data={exposures}
            onChange={(e) => form.edit({ exposure: e.currentTarget.value })}
          />
        </div>
        {saving.error !== null && <ErrorCard error={saving.error} />}
        {may && (
          <div className="acts">
            <Button type="submit" disabled={form.edited.length === 0} loading={saving.busy}>
              Save
            </Button>
            {form.edited.length > 0 && (
              <Button variant="default" onClick={() => form.reset()}>
                Reset
              </Button>
            )}
          </div>
        )}
      </form>
      {saving.dialog}
    </Panel>
  );
}
