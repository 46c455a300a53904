import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Server, Tool } from '../../api/client';
import { useMe, useServer } from '../../api/data';
import { can } from '../../app/permissions';
import { Panel, Tag } from '../../parts/elements';
import { ErrorCard, Loading } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { cleanOverrides, type Overrides } from '../server/overrideFields';

type Hint = keyof Tool['hints'];

const hints: [name: Hint, label: string, yes: string, no: string][] = [
  ['read_only', 'Read-only', 'changes nothing', 'can change something'],
  ['destructive', 'Destructive', 'can delete or overwrite', 'only adds'],
  ['idempotent', 'Idempotent', 'can be repeated', 'repeating it changes more'],
  ['open_world', 'Open world', 'reaches systems outside', 'stays inside'],
];

const origins: Record<string, string> = {
  operator: 'An admin set it for this tool.',
  server: 'The server says so, and its annotations are trusted.',
  unknown: 'No admin set it, and no trusted server states it.',
};

// Annotations shows what Junctor takes a tool to be, and who said so. Admins can state it.
export function Annotations({ t }: { t: Tool }) {
  const admin = can(useMe().data, 'admin');
  return (
    <Panel title="Annotations" pad>
      <div className="stack">
        <p className="small soft">Rules, approvals and retries act on these.</p>
        <dl className="facts">
          {hints.map(([name, label, yes, no]) => {
            const hint = t.hints[name];
            return (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{label}</dt>
                <dd className="row">
                  <span>{hint.value === undefined ? 'Unknown' : hint.value ? `Yes: ${yes}` : `No: ${no}`}</span>
                  {hint.value !== undefined && <Tag title={origins[hint.origin] ?? ''}>{hint.origin}</Tag>}
                </dd>
              </div>
            );
          })}
          <dt>Tags</dt>
          <dd className="row">
            {t.tags?.length ? (
              <>
                {t.tags.map((tag) => (
                  <Tag key={tag} tone="act">
                    {tag}
                  </Tag>
                ))}
                <Tag title={origins.operator ?? ''}>operator</Tag>
              </>
            ) : (
              'None'
            )}
          </dd>
        </dl>
        {admin && <Statements t={t} />}
      </div>
    </Panel>
  );
}

// Statements changes what an admin states about a tool, in the overrides of its server.
function Statements({ t }: { t: Tool }) {
  const server = useServer(t.server);
  if (!server.data) return server.error ? <ErrorCard error={server.error} retry={() => server.refetch()} /> : <Loading rows={2} />;
  if (server.data.mode === 'builtin')
    return <p className="small soft">The server is built in, so that its annotations are those of its tools.</p>;
  if (server.data.declared)
    return <p className="small soft">The server is declared in {server.data.declared}. Set annotations of its tools there.</p>;
  return (
    <details>
      <summary className="small">Set annotations</summary>
      <Form t={t} s={server.data} />
    </details>
  );
}

type Fields = Record<Hint | 'tags', string>;

const written = (v: boolean | undefined) => (v === undefined ? '' : v ? 'yes' : 'no');
const stated = (v: string) => (v === '' ? undefined : v === 'yes');

function Form({ t, s }: { t: Tool; s: Server }) {
  const cache = useQueryClient();
  const fieldsOf = (one: Server): Fields => {
    const o = one.overrides?.[t.name] ?? {};
    return {
      read_only: written(o.read_only),
      destructive: written(o.destructive),
      idempotent: written(o.idempotent),
      open_world: written(o.open_world),
      tags: (o.tags ?? []).join(', '),
    };
  };
  const form = useEdits<Server, Fields>(s, fieldsOf);
  const f = form.fields;
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', `/servers/${encodeURIComponent(s.id)}`],
    bodyOf: (fields, stored) => {
      const tags = fields.tags
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean);
      const all: Overrides = {
        ...stored.overrides,
        [t.name]: {
          ...stored.overrides?.[t.name],
          read_only: stated(fields.read_only),
          destructive: stated(fields.destructive),
          idempotent: stated(fields.idempotent),
          open_world: stated(fields.open_world),
          tags,
        },
      };
      return { overrides: cleanOverrides(all) };
    },
    done: () => Promise.all(['servers', 'tools', 'tool', 'policies'].map((key) => cache.invalidateQueries({ queryKey: [key] }))),
    labels: { read_only: 'Read-only', destructive: 'Destructive', idempotent: 'Idempotent', open_world: 'Open world', tags: 'Tags' },
  });
  const isStated = Object.values(f).some((v) => v !== '');
  return (
    <form
      className="stack"
      style={{ marginTop: '0.75rem' }}
      aria-label="Annotations"
      onSubmit={(e) => {
        e.preventDefault();
        saving.save();
      }}
    >
      <div className="row" style={{ alignItems: 'flex-start' }}>
        {hints.map(([name, label]) => (
          <NativeSelect
            key={name}
            className="grow"
            style={{ minWidth: '9rem' }}
            label={label}
            value={f[name]}
            onChange={(e) => form.edit({ [name]: e.currentTarget.value })}
            data={[
              { value: '', label: 'Not set' },
              { value: 'yes', label: 'Yes' },
              { value: 'no', label: 'No' },
            ]}
          />
        ))}
      </div>
      <TextInput
        label="Tags"
        description="Words that rules can read, separated by commas"
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder="money, production"
        value={f.tags}
        onChange={(e) => form.edit({ tags: e.currentTarget.value })}
      />
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
      <div className="acts">
        <Button type="submit" size="compact-sm" loading={saving.busy} disabled={form.edited.length === 0}>
          Save
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!isStated}
          onClick={() => form.edit({ read_only: '', destructive: '', idempotent: '', open_world: '', tags: '' })}
        >
          Reset all
        </Button>
      </div>
    </form>
  );
}
