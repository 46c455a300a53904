import { Button, Checkbox } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { Link } from 'wouter';
import { type Schemas, send, type Tool } from '../api/client';
import { useMe, useRoles, useTool, useToolChanges } from '../api/data';
import { can } from '../app/permissions';
import { Activity } from '../parts/Activity';
import { diff } from '../parts/diff';
import { Ago, Copy, Head, Panel, Tabs, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { History } from '../parts/History';
import { Json } from '../parts/Json';
import { SideBySide } from '../parts/SideBySide';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { hints } from './ToolRows';
import { Annotations } from './tool/Annotations';

export default function ToolPage({ name }: { name: string }) {
  const tool = useTool(name);
  return <QueryContent query={tool}>{(t) => <Page t={t} />}</QueryContent>;
}

function Page({ t }: { t: Tool }) {
  const me = useMe().data;
  const [tab, setTab] = useParam('tab', 'about');
  const changes = useToolChanges({ tool: t.exposed });
  const audits = can(useMe().data, 'audit:read');
  return (
    <>
      <Head
        title={t.title || t.name}
        crumbs={[
          ['Tools', '/tools'],
          [t.server, `/servers/${t.server}`],
        ]}
        sub={
          <span className="row mono small">
            {t.exposed} <Copy value={t.exposed} label="Copy the name" />
            {hints(t).map(([name, tone]) => (
              <Tag key={name} tone={tone}>
                {name}
              </Tag>
            ))}
          </span>
        }
      >
        {can(me, 'tools:call') && (
          <Button component={Link} href={`/playground?name=${encodeURIComponent(t.exposed)}`} leftSection={<Play size={15} />}>
            Try the tool
          </Button>
        )}
      </Head>
      <Tabs
        label="Sections of the tool"
        now={tab}
        choose={setTab}
        tabs={[
          ['about', 'Definition'],
          ...(audits ? ([['activity', 'Activity']] as [string, string][]) : []),
          ['roles', 'Roles'],
          ['changes', `Changes ${changes.data?.length || ''}`],
          ...(can(me, 'admin') ? ([['history', 'History']] as [string, string][]) : []),
        ]}
      />
      {tab === 'activity' && (
        <Activity of={{ by: 'tool', first: t.server, second: t.name }} filter={{ server: t.server, tool: t.name }} tokens={false} />
      )}
      {tab === 'about' && (
        <div className="columns wide-left">
          <div className="stack">
            <Panel title="Description" pad>
              <p className="wrap">{t.description || <span className="soft">No description.</span>}</p>
            </Panel>
            <Panel title="Input schema" pad>
              <Parameters schema={t.input_schema} />
            </Panel>
            {t.output_schema && (
              <Panel title="Output schema" pad>
                <Json value={t.output_schema} />
              </Panel>
            )}
          </div>
          <div className="stack" style={{ gap: '1.125rem' }}>
            <Annotations t={t} />
            <Panel title="Details" pad>
              <dl className="facts">
                <dt>Server</dt>
                <dd>
                  <Link className="link" href={`/servers/${t.server}`}>
                    {t.server}
                  </Link>
                </dd>
                <dt>Original name</dt>
                <dd>
                  <code>{t.name}</code>
                </dd>
                {t.version && (
                  <>
                    <dt>Version</dt>
                    <dd>
                      {t.version} {t.versions && t.versions.length > 1 && <span className="soft">of {t.versions.join(', ')}</span>}
                    </dd>
                  </>
                )}
                <dt>Category</dt>
                <dd>{t.category}</dd>
                <dt>Roles</dt>
                <dd>{t.roles.join(', ')}</dd>
                <dt>Cost</dt>
                <dd>about {count(t.tokens)} tokens</dd>
                <dt>Digest</dt>
                <dd className="row plain">
                  <code className="cut">{t.digest}</code> <Copy value={t.digest} />
                </dd>
                {t.changed_at && !t.changed_at.startsWith('0001') && (
                  <>
                    <dt>Changed</dt>
                    <dd>
                      <Ago at={t.changed_at} />
                    </dd>
                  </>
                )}
              </dl>
            </Panel>
          </div>
        </div>
      )}
      {tab === 'roles' && <Roles t={t} />}
      {tab === 'history' && can(me, 'admin') && <History object="tool" id={t.exposed} />}
      {tab === 'changes' && (
        <QueryContent query={changes}>
          {(all) =>
            all.length === 0 ? (
              <Panel>
                <Empty title="No changes">The definition has not changed since the server was added.</Empty>
              </Panel>
            ) : (
              <div className="stack">
                {all.map((c) => (
                  <Change key={c.id} c={c} />
                ))}
              </div>
            )
          }
        </QueryContent>
      )}
    </>
  );
}

interface Property {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
}

function Parameters({ schema }: { schema: unknown }) {
  const s = (schema ?? {}) as { properties?: Record<string, Property>; required?: string[] };
  const entries = Object.entries(s.properties ?? {});
  return (
    <div className="stack">
      {entries.length === 0 ? (
        <p className="soft">No arguments.</p>
      ) : (
        <dl className="facts">
          {entries.map(([name, p]) => (
            <div key={name} style={{ display: 'contents' }}>
              <dt>
                <code style={{ color: 'var(--ink)' }}>{name}</code>
                {s.required?.includes(name) && (
                  <span title="required" style={{ color: 'var(--bad)' }}>
                    {' '}
                    *
                  </span>
                )}
              </dt>
              <dd>
                <span className="soft">{p.enum ? p.enum.map((e) => JSON.stringify(e)).join(' | ') : [p.type].flat().join(' | ')}</span>{' '}
                <span className="wrap">{p.description}</span>
                {p.default !== undefined && <span className="soft"> Default: {JSON.stringify(p.default)}.</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <details>
        <summary className="small soft">Schema</summary>
        <div style={{ marginTop: '0.5rem' }}>
          <Json value={schema} />
        </div>
      </details>
    </div>
  );
}

function Roles({ t }: { t: Tool }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const roles = useRoles();
  const path = `/tools/${encodeURIComponent(t.exposed)}/tag`;
  const refresh = () =>
    Promise.all([cache.invalidateQueries({ queryKey: ['tool', t.exposed] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
  const set = useMutation({
    mutationFn: (r: string[]) => (r.length ? send('PUT', path, { roles: r }, { match: t.class?.tag?.tagged_at }) : send('DELETE', path)),
    onSettled: refresh,
  });
  const may = can(me, 'servers:write');
  return (
    <Panel pad>
      <div className="stack">
        <p className="soft">
          Agents with these roles can use the tool. General means all roles. By default, rules choose the roles from the name and
          description of the tool.
        </p>
        <QueryContent query={roles}>
          {(all) => (
            <div className="row" style={{ gap: '0.75rem 1.25rem' }}>
              {all.map((r) => (
                <Checkbox
                  key={r.name}
                  label={r.name}
                  disabled={!may || set.isPending}
                  checked={t.roles.includes(r.name)}
                  onChange={(e) => set.mutate(e.currentTarget.checked ? [...t.roles, r.name] : t.roles.filter((x) => x !== r.name))}
                />
              ))}
            </div>
          )}
        </QueryContent>
        {t.class && <Json value={t.class} />}
        {may && (
          <div>
            <Button variant="default" loading={set.isPending} onClick={() => set.mutate([])}>
              Set to auto
            </Button>
          </div>
        )}
        {set.error && <ErrorCard error={set.error} />}
      </div>
    </Panel>
  );
}

function Change({ c }: { c: Schemas['ToolChange'] }) {
  const lines = diff(JSON.stringify(c.before ?? {}, null, 2), JSON.stringify(c.after ?? {}, null, 2));
  return (
    <Panel
      title={
        <>
          Seen <Ago at={c.seen_at} />
        </>
      }
      acts={c.what?.map((w) => (
        <Tag key={w} tone="warn">
          {w}
        </Tag>
      ))}
      pad
    >
      <SideBySide label="What changed" lines={lines} />
    </Panel>
  );
}
