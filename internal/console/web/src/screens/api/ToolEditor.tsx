import { Button, Checkbox, Switch, Textarea, TextInput } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, Play } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { type APIPreview, get, type Schemas, type Server, type ServerDetail, send, type Tool } from '../../api/client';
import { useRoles, useTool } from '../../api/data';
import { Panel, Scroll, Tag } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { count, counted } from '../../parts/format';
import { matches } from '../../parts/search';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';
import { useParam } from '../../parts/url';
import { useEdits, useSave } from '../../parts/useEdits';
import { Virtual } from '../../parts/Virtual';
import { OverrideSettings } from '../server/OverrideSettings';
import { cleanOverrides, type Override, type Overrides, overridesBeside } from '../server/overrideFields';
import { ModelSuggestions } from './ModelSuggestions';
import { Verb } from './Operations';

type Endpoint = Schemas['APIEndpoint'];
type Suggestion = Schemas['APIProblem'] & { edit: Schemas['APIEdit'] };
const most = 100; // improvements
const height = 58; // of a tool in the list
const further = overridesBeside('hide', 'name', 'description');

// useValidated is what a server's document comes to when it is read again, and
// what could be better.
export const useValidated = (s: ServerDetail) =>
  useQuery({
    queryKey: ['servers', s.id, 'validate', s.updated_at],
    queryFn: ({ signal }) => get<APIPreview>(`/servers/${s.id}/validate`, signal),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  });

// useSettledOverrides reads what depends on how tools are shown.
function useSettledOverrides() {
  const cache = useQueryClient();
  // What is known of single tools goes once nobody looks at it under a name that
  // it has no more.
  return async () => {
    await Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
    cache.removeQueries({ queryKey: ['tool'], type: 'inactive' });
  };
}

export function useOverrides(s: ServerDetail) {
  const settled = useSettledOverrides();
  return useMutation({
    mutationFn: (part: Overrides) =>
      send('PATCH', `/servers/${s.id}`, { overrides: cleanOverrides({ ...s.overrides, ...part }) }, { match: s.updated_at }),
    onSettled: settled,
  });
}

// ToolEditor changes how the tools of a generated server are shown, and what they are
// for. What people say stays when the document is read again.
export function ToolEditor({ s, may }: { s: ServerDetail; may: boolean }) {
  const validated = useValidated(s);
  return <QueryContent query={validated}>{(p) => <Tools s={s} may={may} preview={p} />}</QueryContent>;
}

function Tools({ s, may, preview }: { s: ServerDetail; may: boolean; preview: APIPreview }) {
  const [q, setQ] = useState('');
  const [own, setOwn] = useParam('tool');
  const ready = preview.endpoints.filter((e) => e.callable);
  const found = ready.filter((e) => matches(q, e.key, e.tool, s.overrides?.[e.tool]?.name, e.description));
  const chosen = ready.find((e) => e.tool === own) ?? found[0];
  const suggestions = preview.problems.filter((p): p is Suggestion => p.edit !== undefined);
  return (
    <>
      {may && <ModelSuggestions s={s} />}
      {suggestions.length > 0 && <Suggestions s={s} may={may} all={suggestions} open={setOwn} />}
      <div className="columns beside">
        <Panel title={counted(ready.length, 'tool')} acts={<FilterInput label="Find a tool" small value={q} change={setQ} />}>
          <Scroll label="Tools to edit" height="34rem">
            <Virtual
              count={found.length}
              height={height}
              label="Tools"
              row={(i) => {
                const e = found[i];
                const o = e && s.overrides?.[e.tool];
                return (
                  e && (
                    <li key={e.key} className="rows line" style={{ height }}>
                      <button type="button" className="problem" aria-pressed={chosen?.key === e.key} onClick={() => setOwn(e.tool)}>
                        <span className="row plain" style={{ width: '100%' }}>
                          <span className="mono cut" style={{ fontWeight: 550 }}>
                            {o?.name || e.tool}
                          </span>
                          {o?.hide && <Tag>hidden</Tag>}
                          {(o?.name || o?.description) && <Tag tone="act">edited</Tag>}
                        </span>
                        <span className="row plain tiny soft" style={{ width: '100%' }}>
                          <Verb of={e.key} />
                        </span>
                      </button>
                    </li>
                  )
                );
              }}
            />
            {found.length === 0 && <Empty title="No tool matches" />}
          </Scroll>
        </Panel>
        {chosen && <One key={`${s.id} ${chosen.key}`} s={s} e={chosen} may={may} />}
      </div>
    </>
  );
}

function One({ s, e, may }: { s: ServerDetail; e: Endpoint; may: boolean }) {
  const was: Override = s.overrides?.[e.tool] ?? {};
  const settled = useSettledOverrides();
  const fieldsOf = (n: Server): Override => ({ ...n.overrides?.[e.tool] });
  const form = useEdits(s as Server, fieldsOf);
  const o = form.fields;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${s.id}`],
    bodyOf: (fields, stored) => ({ overrides: cleanOverrides({ ...stored.overrides, [e.tool]: fields }) }),
    done: settled,
  });
  const name = was.name || e.tool;
  const exposed = s.tools?.includes(name) ? `${s.id}__${name}` : ''; // of a tool that is not hidden
  const same = JSON.stringify(cleanOverrides({ x: o })) === JSON.stringify(cleanOverrides({ x: form.stored }));
  const set = form.edit;
  const named = !o.name || /^[A-Za-z0-9_-]{1,64}$/.test(o.name);
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <Panel
        title={<span className="mono">{was.name || e.tool}</span>}
        acts={
          exposed && (
            <Button
              component={Link}
              href={`/playground?name=${encodeURIComponent(exposed)}`}
              size="compact-sm"
              variant="default"
              leftSection={<Play size={13} />}
            >
              Try the tool
            </Button>
          )
        }
        pad
      >
        <form
          className="stack"
          onSubmit={(ev) => {
            ev.preventDefault();
            if (!same && named) saving.save();
          }}
        >
          <span className="row plain small">
            <Verb of={e.key} />
            <Link className="link small" href={`/servers/${s.id}?tab=document&line=${e.line}`}>
              line {e.line}
            </Link>
          </span>
          <TextInput
            label="Name"
            placeholder={e.tool}
            value={o.name ?? ''}
            disabled={!may}
            styles={{ input: { fontFamily: 'var(--mono)' } }}
            error={named ? undefined : 'Use up to 64 letters, digits, _ and -.'}
            onChange={(ev) => set({ name: ev.currentTarget.value.trim() })}
          />
          <Textarea
            label="Description"
            description="Models choose the tool by its description."
            autosize
            minRows={3}
            maxRows={12}
            placeholder={e.description || 'No description'}
            value={o.description ?? ''}
            disabled={!may}
            onChange={(ev) => set({ description: ev.currentTarget.value })}
          />
          <Switch label="Listed" checked={!o.hide} disabled={!may} onChange={(ev) => set({ hide: !ev.currentTarget.checked })} />
          <details open={further.some((name) => name in form.stored) || undefined}>
            <summary className="small soft">Advanced</summary>
            <div className="columns" style={{ marginTop: '0.75rem' }}>
              <OverrideSettings names={further} override={o} may={may} change={set} />
            </div>
          </details>
          {may && (
            <div className="acts">
              <Button type="submit" disabled={same || !named} loading={saving.busy}>
                Save the tool
              </Button>
              {!same && (
                <Button variant="subtle" onClick={() => form.reset()}>
                  Reset
                </Button>
              )}
              <span className="tiny soft">about {count(e.tokens)} tokens</span>
            </div>
          )}
          {saving.error !== null && <ErrorCard error={saving.error} />}
          {saving.dialog}
        </form>
      </Panel>
      {exposed && <For name={exposed} may={may} />}
    </div>
  );
}

// For is whom a tool is for, as the rules or people say.
function For({ name, may }: { name: string; may: boolean }) {
  const tool = useTool(name);
  return (
    <Panel title="Roles" pad>
      <QueryContent query={tool} rows={2}>
        {(t) => <Roles key={t.exposed} t={t} may={may} />}
      </QueryContent>
    </Panel>
  );
}

function Roles({ t, may }: { t: Tool; may: boolean }) {
  const cache = useQueryClient();
  const roles = useRoles();
  const tag = t.class?.tag;
  // What is chosen stands over what is stored, so that reading the tool again keeps it.
  const [edits, setEdits] = useState<{ roles?: string[]; category?: string }>({});
  const chosen = edits.roles ?? t.roles;
  const category = edits.category ?? tag?.category ?? '';
  const path = `/tools/${encodeURIComponent(t.exposed)}/tag`;
  const save = useMutation({
    mutationFn: (back: boolean) =>
      back
        ? send('DELETE', path)
        : send(
            'PUT',
            path,
            { ...(chosen.length > 0 ? { roles: chosen } : {}), ...(category ? { category } : {}) },
            { match: tag?.tagged_at },
          ),
    onSuccess: async () => {
      await Promise.all([cache.invalidateQueries({ queryKey: ['tool', t.exposed] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
      setEdits({});
    },
  });
  const same = JSON.stringify([...chosen].sort()) === JSON.stringify([...t.roles].sort()) && category === (tag?.category ?? '');
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate(false);
      }}
    >
      <div className="row" style={{ gap: '0.625rem 1.125rem' }}>
        {roles.data?.map((r) => (
          <Checkbox
            key={r.name}
            label={r.name}
            disabled={!may}
            checked={chosen.includes(r.name)}
            onChange={(e) =>
              setEdits({ ...edits, roles: e.currentTarget.checked ? [...chosen, r.name] : chosen.filter((x) => x !== r.name) })
            }
          />
        ))}
      </div>
      <TextInput
        label="Category"
        placeholder={t.category}
        value={category}
        disabled={!may}
        onChange={(e) => setEdits({ ...edits, category: e.currentTarget.value })}
      />
      {may && (
        <div className="acts">
          <Button type="submit" variant="default" disabled={same || (chosen.length === 0 && !category)} loading={save.isPending}>
            Save
          </Button>
          {tag && (
            <Button variant="subtle" onClick={() => save.mutate(true)}>
              Set to auto
            </Button>
          )}
          <span className="tiny soft">{tag ? 'Set by a user' : `Auto (${Math.round((t.class?.confidence ?? 0) * 100)} %)`}</span>
        </div>
      )}
      {save.error && <ErrorCard error={save.error} />}
    </form>
  );
}

// Suggestions are edits that would make tools easier to use, to be accepted.
function Suggestions({ s, may, all, open }: { s: ServerDetail; may: boolean; all: Suggestion[]; open: (tool: string) => void }) {
  const save = useOverrides(s);
  const cache = useQueryClient();
  const tag = useMutation({
    mutationFn: async (list: Suggestion[]) => {
      for (const { edit } of list) {
        const name = s.overrides?.[edit.tool]?.name ?? edit.tool;
        await send('PUT', `/tools/${encodeURIComponent(`${s.id}__${name}`)}/tag`, { roles: edit.roles, category: edit.category });
      }
    },
    onSuccess: () => Promise.all(['servers', 'tools', 'tool'].map((key) => cache.invalidateQueries({ queryKey: [key] }))),
  });
  const isTag = ({ edit }: Suggestion) => (edit.roles?.length ?? 0) > 0 || !!edit.category;
  const accept = (list: Suggestion[]) => {
    const part: Overrides = {};
    for (const { edit } of list.filter((p) => !isTag(p))) {
      const { tool, roles: _roles, category: _category, ...o } = edit;
      part[tool] = { ...s.overrides?.[tool], ...part[tool], ...o };
    }
    const tags = list.filter(isTag);
    const rest = () => Object.keys(part).length > 0 && save.mutate(part);
    if (tags.length > 0)
      tag.mutate(tags, { onSuccess: rest }); // by the names that tools have before
    else rest();
  };
  return (
    <Panel
      title={counted(all.length, 'improvement')}
      acts={
        may && (
          <Button size="compact-sm" loading={save.isPending || tag.isPending} onClick={() => accept(all)}>
            Accept all
          </Button>
        )
      }
    >
      <Scroll label="Improvements" className="rows" height="16rem">
        {all.slice(0, most).map((p, i) => (
          <div key={i} style={{ alignItems: 'flex-start' }}>
            <span className="grow stack tight">
              <span className="row">
                <button type="button" className="plainly mono" style={{ fontWeight: 550 }} onClick={() => open(p.edit.tool)}>
                  {p.edit.tool}
                </button>
                <span className="small soft">{p.message}</span>
              </span>
              <span className="small wrap">
                {p.edit.hide ? (
                  'Hide the tool'
                ) : p.edit.name ? (
                  <code>{p.edit.name}</code>
                ) : isTag(p) ? (
                  [...(p.edit.roles ?? []), p.edit.category].filter(Boolean).join(', ')
                ) : (
                  <q>{p.edit.description}</q>
                )}
              </span>
            </span>
            {may && (
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<Check size={13} />}
                disabled={save.isPending || tag.isPending}
                aria-label={`Accept ${p.code} of ${p.edit.tool}`}
                onClick={() => accept([p])}
              >
                Accept
              </Button>
            )}
          </div>
        ))}
        {all.length > most && <div className="small soft">{count(all.length - most)} more. Accept these first.</div>}
      </Scroll>
      {(save.error ?? tag.error) && (
        <div className="pad">
          <ErrorCard error={save.error ?? tag.error} />
        </div>
      )}
    </Panel>
  );
}
