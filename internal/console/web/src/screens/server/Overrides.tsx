import { ActionIcon, Button, Checkbox, Switch, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import type { Server, ServerDetail } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { Panel, Scroll } from '../../parts/elements';
import { count } from '../../parts/format';
import { matches } from '../../parts/search';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { OverrideSettings } from './OverrideSettings';
import { cleanOverrides, isToolName, nameRule, type Overrides, overridesBeside } from './overrideFields';

const most = 25; // rows, each with four inputs; the search finds the others

// What a row has no place for is drawn below it.
const further = overridesBeside('hide', 'name', 'description', 'read_only');

// OverrideRows say how tools of a server are shown: not at all, or under another name or
// description; which of them change nothing; and what else is set for a tool alone.
export function OverrideRows({ s, may }: { s: ServerDetail; may: boolean }) {
  const cache = useQueryClient();
  const admin = can(useMe().data, 'admin');
  const form = useEdits<Server, Overrides>(s, overridesOf);
  const all = form.fields;
  const [q, setQ] = useState('');
  const [opened, setOpened] = useState<string[]>([]);
  const own = [...new Set([...(s.tools ?? []).filter((t) => !renamed(s.overrides, t)), ...Object.keys(s.overrides ?? {})])].sort();
  const shown = own.filter((n) => matches(q, n, all[n]?.name)).slice(0, most);
  const same = JSON.stringify(cleanOverrides(all)) === JSON.stringify(form.stored);
  const saving = useSave({
    of: form,
    fieldsOf: overridesOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: (fields) => ({ overrides: cleanOverrides(fields) }),
    done: () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]),
  });
  const misnamed = own.filter((n) => !isToolName(all[n]?.name));
  const set = (name: string, part: Partial<Overrides[string]>) => form.edit({ [name]: { ...all[name], ...part } });
  if (own.length === 0) return null;
  return (
    <Panel
      title="Tools"
      acts={
        own.length > 8 && (
          <TextInput size="xs" placeholder="Find a tool" aria-label="Find a tool" value={q} onChange={(e) => setQ(e.currentTarget.value)} />
        )
      }
    >
      <Scroll label="Tools of the server" className="rows" height="24rem">
        {shown.map((n) => (
          <div key={n} className="override">
            <Switch
              aria-label={`List ${n}`}
              checked={!all[n]?.hide}
              disabled={!may}
              onChange={(e) => set(n, { hide: !e.currentTarget.checked })}
            />
            <code className="cut" style={{ width: '11rem', flex: 'none' }}>
              {n}
            </code>
            <TextInput
              size="xs"
              className="own-line"
              aria-label={`Name of ${n}`}
              placeholder="other name"
              disabled={!may}
              value={all[n]?.name ?? ''}
              error={isToolName(all[n]?.name) ? undefined : nameRule}
              onChange={(e) => set(n, { name: e.currentTarget.value })}
            />
            <TextInput
              size="xs"
              className="grow own-line"
              aria-label={`Description of ${n}`}
              placeholder="other description"
              disabled={!may}
              value={all[n]?.description ?? ''}
              onChange={(e) => set(n, { description: e.currentTarget.value })}
            />
            <Checkbox
              size="xs"
              label="read-only"
              aria-label={`${n} is read-only`}
              title="Agents use read-only tools without approval. Only admins can set this."
              disabled={!may || !admin}
              checked={all[n]?.read_only ?? false}
              onChange={(e) => set(n, { read_only: e.currentTarget.checked || undefined })}
            />
            <ActionIcon
              aria-label={`More settings of ${n}`}
              title="More settings"
              aria-expanded={opened.includes(n)}
              variant={Object.keys(all[n] ?? {}).some((name) => further.includes(name)) ? 'light' : 'subtle'}
              onClick={() => setOpened(opened.includes(n) ? opened.filter((o) => o !== n) : [...opened, n])}
            >
              <SlidersHorizontal size={15} />
            </ActionIcon>
            {opened.includes(n) && (
              <div className="columns further">
                <OverrideSettings names={further} override={all[n] ?? {}} may={may} change={(part) => set(n, part)} />
              </div>
            )}
          </div>
        ))}
      </Scroll>
      {may && (
        <div className="pad acts" style={{ borderTop: '1px solid var(--line-soft)' }}>
          <Button variant="default" disabled={same || misnamed.length > 0} loading={saving.busy} onClick={saving.save}>
            Save tools
          </Button>
          {misnamed.length > 0 && (
            <span className="small soft">
              The new name of {misnamed.join(', ')} is not possible. {nameRule}
            </span>
          )}
          {own.length > shown.length && <span className="small soft">{count(own.length - shown.length)} more. Search by name.</span>}
        </div>
      )}
      {saving.error !== null && (
        <div className="pad">
          <ErrorCard error={saving.error} />
        </div>
      )}
      {saving.dialog}
    </Panel>
  );
}

const overridesOf = (s: Server): Overrides => cleanOverrides(s.overrides ?? {});

// renamed says that a name is what another tool is shown as.
const renamed = (all: Overrides | undefined, name: string) => Object.values(all ?? {}).some((o) => o.name === name);
