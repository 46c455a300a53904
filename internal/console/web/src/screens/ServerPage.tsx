import { Button, Modal, Switch, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Activity, Play, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Probe, type ServerDetail, send } from '../api/client';
import { useMe, useOffer, useServer, useToolChanges, useTools } from '../api/data';
import { can } from '../app/may';
import { Ago, Copy, Head, Panel, State, Tabs, Tag } from '../parts/bits';
import { home } from '../parts/doors';
import { count, tokens } from '../parts/format';
import { Code } from '../parts/Json';
import { Empty, ErrorCard, Shown } from '../parts/states';
import { useParam } from '../parts/url';
import { Way } from './AddServer';
import { modes, reach } from './Servers';
import { ToolRows } from './ToolRows';

export default function ServerPage({ id }: { id: string }) {
  const server = useServer(id);
  return <Shown query={server}>{(s) => <Page s={s} />}</Shown>;
}

function Page({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const [tab, setTab] = useParam('tab', 'tools');
  const tools = useTools(s.id);
  const offer = useOffer(s.id);
  const changes = useToolChanges({ server: s.id });
  const d = s.diagnostics;
  const writes = can(me, 'servers:write') && !s.declared;
  const refresh = () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
  const toggle = useMutation({
    mutationFn: (on: boolean) => send('POST', `/servers/${s.id}/${on ? 'enable' : 'disable'}`),
    onSettled: refresh,
  });
  const test = useMutation({ mutationFn: () => send<Probe>('POST', `/servers/${s.id}/test`), onSettled: refresh });

  return (
    <>
      <Head
        title={s.title || s.id}
        crumbs={[['Servers', '/servers']]}
        sub={
          <span className="mono small row">
            <span className="cut">{reach(s)}</span> {s.url && <Copy value={s.url} label="Copy the address" />}
          </span>
        }
      >
        {can(me, 'servers:write') && s.mode !== 'builtin' && (
          <Button variant="default" leftSection={<Activity size={15} />} loading={test.isPending} onClick={() => test.mutate()}>
            Reach it
          </Button>
        )}
        {writes && (
          <Switch
            label={s.state === 'inactive' ? 'off' : 'on'}
            checked={s.state !== 'inactive'}
            disabled={toggle.isPending}
            onChange={(e) => toggle.mutate(e.currentTarget.checked)}
          />
        )}
      </Head>
      {toggle.error && <ErrorCard error={toggle.error} />}
      {test.error && <ErrorCard error={test.error} />}
      {test.data && (
        <Panel title={test.data.failed ? 'It was not reached' : 'It was reached'} pad>
          <Way probe={test.data} busy={false} command={s.transport === 'stdio'} />
        </Panel>
      )}
      {s.state === 'error' && s.last_error && (
        <section className="fault" role="alert">
          <h3>It is not working</h3>
          <p className="wrap">{s.last_error}</p>
        </section>
      )}
      <div className="figures">
        <div className="figure">
          <div className="name">State</div>
          <div className="value" style={{ fontSize: '0.9375rem', lineHeight: 2 }}>
            <State state={s.state} />
          </div>
          <div className="note">{modes[s.mode]}</div>
        </div>
        {d && (
          <>
            <div className="figure">
              <div className="name">Protocol</div>
              <div className="value" style={{ fontSize: '0.9375rem', lineHeight: 2 }}>
                {d.protocol || '–'}
              </div>
              <div className="note">{d.era ? `${d.era} · ${s.transport}` : s.transport}</div>
            </div>
            <div className="figure">
              <div className="name">Latency</div>
              <div className="value">
                {d.latency_ms ? d.latency_ms.toFixed(0) : '–'} <small>ms</small>
              </div>
              <div className="note">
                seen <Ago at={d.last_seen} />
              </div>
            </div>
            <div className="figure">
              <div className="name">{s.transport === 'stdio' ? 'Processes' : 'Sessions'}</div>
              <div className="value">{(s.transport === 'stdio' ? d.processes : d.sessions) ?? 0}</div>
              <div className="note">{d.isolation || 'shared'}</div>
            </div>
          </>
        )}
        <div className="figure">
          <div className="name">Tools</div>
          <div className="value">{tools.data?.length ?? '–'}</div>
          <div className="note">about {count(tools.data?.reduce((n, t) => n + tokens(t), 0) ?? 0)} tokens</div>
        </div>
      </div>
      <Tabs
        label="Parts of the server"
        now={tab}
        choose={setTab}
        tabs={[
          ['tools', `Tools ${tools.data?.length ?? ''}`],
          ['resources', `Resources ${offer.data ? offer.data.resources.length + offer.data.templates.length : ''}`],
          ['prompts', `Prompts ${offer.data?.prompts.length ?? ''}`],
          ...(d ? ([['diagnostics', 'Diagnostics']] as [string, string][]) : []),
          ...(changes.data?.length ? ([['changes', `Changed ${changes.data.length}`]] as [string, string][]) : []),
          ['settings', 'Settings'],
        ]}
      />
      {tab === 'tools' && (
        <Panel>
          <Shown query={tools}>
            {(all) =>
              all.length === 0 ? (
                <Empty title="It has no tools">{s.state === 'active' ? 'Or it has not answered yet.' : 'It is not on.'}</Empty>
              ) : (
                <ToolRows tools={all} server={false} />
              )
            }
          </Shown>
        </Panel>
      )}
      {tab === 'resources' && (
        <Panel>
          <Shown query={offer}>
            {(o) =>
              o.resources.length + o.templates.length === 0 ? (
                <Empty title="It has no resources" />
              ) : (
                <Items server={s.id} kind="resource" items={[...o.resources, ...o.templates]} />
              )
            }
          </Shown>
        </Panel>
      )}
      {tab === 'prompts' && (
        <Panel>
          <Shown query={offer}>
            {(o) =>
              o.prompts.length === 0 ? <Empty title="It has no prompts" /> : <Items server={s.id} kind="prompt" items={o.prompts} />
            }
          </Shown>
        </Panel>
      )}
      {tab === 'diagnostics' && d && <Diagnostics s={s} />}
      {tab === 'changes' && (
        <Panel>
          <div className="rows">
            {changes.data?.map((c) => (
              <Link key={c.id} href={`/tools/${encodeURIComponent(`${c.server}__${c.tool}`)}?tab=changes`}>
                <span className="mono grow cut">{c.tool}</span>
                <span className="small soft cut">{c.what?.join(', ')}</span>
                <span className="small soft">
                  <Ago at={c.seen_at} />
                </span>
              </Link>
            ))}
          </div>
        </Panel>
      )}
      {tab === 'settings' && <Settings s={s} writes={writes} />}
    </>
  );
}

const text = (v: unknown): string => (typeof v === 'string' ? v : '');

function Items({ server, kind, items }: { server: string; kind: 'resource' | 'prompt'; items: Record<string, unknown>[] }) {
  return (
    <div className="rows">
      {items.map((item) => {
        const key = kind === 'prompt' ? text(item.name) : text(item.uri) || text(item.uriTemplate);
        return (
          <div key={key}>
            <span className="grow">
              <span className="row">
                <b className="cut">{text(item.title) || text(item.name)}</b>
                {text(item.mimeType) && <Tag>{text(item.mimeType)}</Tag>}
                {text(item.uriTemplate) && <Tag tone="act">template</Tag>}
              </span>
              {kind === 'resource' && (
                <code className="tiny soft cut" style={{ display: 'block' }}>
                  {key}
                </code>
              )}
              <span className="small soft wrap">{text(item.description)}</span>
            </span>
            <Copy value={key} />
            <Button
              component={Link}
              href={`/playground?${new URLSearchParams({ kind, server, name: key })}`}
              variant="default"
              size="compact-sm"
              leftSection={<Play size={13} />}
            >
              Try
            </Button>
          </div>
        );
      })}
    </div>
  );
}

function Diagnostics({ s }: { s: ServerDetail }) {
  const d = s.diagnostics;
  if (!d) return null;
  return (
    <div className="columns">
      <Panel title="Connection" pad>
        <dl className="facts">
          <dt>Connected</dt>
          <dd>{d.connected ? 'yes' : 'no'}</dd>
          <dt>Calls itself</dt>
          <dd>
            {d.name} {d.release}
          </dd>
          <dt>Protocol</dt>
          <dd>
            {d.protocol} {d.era && <span className="soft">({d.era})</span>}
          </dd>
          <dt>Sessions</dt>
          <dd>{d.sessions}</dd>
          <dt>Waiting for input</dt>
          <dd>{d.parked}</dd>
          {d.processes !== undefined && (
            <>
              <dt>Processes</dt>
              <dd>{d.processes}</dd>
            </>
          )}
          <dt>Shared by</dt>
          <dd>
            {d.isolation || 'shared'} {d.isolation_reason && <span className="soft">: {d.isolation_reason}</span>}
          </dd>
          <dt>Last seen</dt>
          <dd>
            <Ago at={d.last_seen} />
          </dd>
          {s.last_error && (
            <>
              <dt>Last error</dt>
              <dd>{s.last_error}</dd>
            </>
          )}
        </dl>
      </Panel>
      <Panel title="Standard error" pad>
        {d.stderr?.length ? (
          <Code label="Copy the lines">{d.stderr.join('\n')}</Code>
        ) : (
          <p className="soft">{s.transport === 'stdio' ? 'It has not complained.' : 'Only commands have one.'}</p>
        )}
      </Panel>
    </div>
  );
}

function Settings({ s, writes }: { s: ServerDetail; writes: boolean }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [asked, { open, close }] = useDisclosure();
  const [typed, setTyped] = useState('');
  const [title, setTitle] = useState(s.title ?? '');
  const save = useMutation({
    mutationFn: () => send('PATCH', `/servers/${s.id}`, { title }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['servers'] }),
  });
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/servers/${s.id}`),
    onSuccess: async () => {
      await Promise.all([
        cache.invalidateQueries({ queryKey: ['servers'], exact: true }),
        cache.invalidateQueries({ queryKey: ['tools'] }),
      ]);
      navigate('/servers');
    },
  });
  return (
    <Panel pad>
      <div className="stack">
        <dl className="facts">
          <dt>Id</dt>
          <dd>
            <code>{s.id}</code>
          </dd>
          <dt>Door of its own</dt>
          <dd className="row">
            <code>{`${home()}/mcp/s/${s.id}`}</code> <Copy value={`${home()}/mcp/s/${s.id}`} />
          </dd>
          <dt>Seen by</dt>
          <dd>{s.private ? 'its owner' : 'everybody'}</dd>
          {s.auth && (
            <>
              <dt>Authentication</dt>
              <dd>{s.auth.type}</dd>
            </>
          )}
          {s.env && (
            <>
              <dt>Environment</dt>
              <dd>
                {Object.keys(s.env).map((k) => (
                  <code key={k}>{k} </code>
                ))}
              </dd>
            </>
          )}
          <dt>Added</dt>
          <dd>
            <Ago at={s.created_at} />
          </dd>
          {s.declared && (
            <>
              <dt>Declared in</dt>
              <dd>
                <code>{s.declared}</code>: it can be changed there alone.
              </dd>
            </>
          )}
        </dl>
        {writes && s.mode !== 'builtin' && (
          <form
            className="row"
            onSubmit={(e) => {
              e.preventDefault();
              save.mutate();
            }}
          >
            <TextInput className="grow" label="Title" value={title} onChange={(e) => setTitle(e.currentTarget.value)} placeholder={s.id} />
            <Button
              type="submit"
              variant="default"
              disabled={title === (s.title ?? '')}
              loading={save.isPending}
              style={{ alignSelf: 'flex-end' }}
            >
              Save
            </Button>
          </form>
        )}
        {save.error && <ErrorCard error={save.error} />}
        {writes && (
          <div>
            <Button color="red" variant="light" leftSection={<Trash2 size={15} />} onClick={open}>
              Remove it for good
            </Button>
          </div>
        )}
      </div>
      <Modal opened={asked} onClose={close} title={`Remove ${s.id}?`}>
        <form
          className="stack"
          onSubmit={(e) => {
            e.preventDefault();
            if (typed === s.id) remove.mutate();
          }}
        >
          <p className="soft">
            Its tools are gone for everybody, and so are its credentials and what agents were granted of it. Records stay.
          </p>
          <TextInput
            label={`Type ${s.id} to go on`}
            value={typed}
            onChange={(e) => setTyped(e.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
          {remove.error && <ErrorCard error={remove.error} />}
          <Button type="submit" color="red" disabled={typed !== s.id} loading={remove.isPending}>
            Remove it
          </Button>
        </form>
      </Modal>
    </Panel>
  );
}
