import { Button, Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Activity as ActivityIcon, LogIn, Play } from 'lucide-react';
import { lazy, Suspense, useEffect } from 'react';
import { Link } from 'wouter';
import { type ServerDetail, send } from '../api/client';
import { useMe, useOffer, useServer, useServerLogin, useToolChanges } from '../api/data';
import { useToolPages } from '../api/lists';
import { can } from '../app/permissions';
import { Activity } from '../parts/Activity';
import { Ago, Copy, Head, Panel, State, Tabs, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { History } from '../parts/History';
import { NextPage } from '../parts/NextPage';
import { ServerOutages } from '../parts/Outages';
import { Empty, ErrorCard, Loading, QueryContent } from '../parts/states';
import { TopTools } from '../parts/TopList';
import { toast } from '../parts/toasts';
import { useParam } from '../parts/url';
import { modes, reach } from './Servers';
import { ConnectionSteps, useConnectionTest } from './server/ConnectionTest';
import { Diagnostics } from './server/Diagnostics';
import { ServerSettings } from './server/ServerSettings';
import { hasSignIn, logsIn, perUser, SignIn } from './server/SignIn';
import { ToolRows } from './ToolRows';

const ApiTabs = lazy(() => import('./api/ApiTabs'));

export default function ServerPage({ id }: { id: string }) {
  const server = useServer(id);
  return <QueryContent query={server}>{(s) => <Page s={s} />}</QueryContent>;
}

function Page({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const [tab, setTab] = useParam('tab', 'tools');
  const tools = useToolPages({ server: s.id });
  const offer = useOffer(s.id, !s.discovered && s.state !== 'inactive'); // what a stranger's server offers is listed nowhere
  const changes = useToolChanges({ server: s.id });
  const d = s.diagnostics;
  const writes = can(me, 'servers:write') && !s.declared;
  const made = s.mode === 'auto-generated' && can(me, 'servers:write');
  const refresh = () => Promise.all([cache.invalidateQueries({ queryKey: ['servers'] }), cache.invalidateQueries({ queryKey: ['tools'] })]);
  const turn = (on: boolean) => send('POST', `/servers/${s.id}/${on ? 'enable' : 'disable'}`);
  const toggle = useMutation({
    mutationFn: (on: boolean) => turn(on),
    onSuccess: (_, on) => toast(`${s.title || s.id} is ${on ? 'enabled' : 'disabled'}`, () => turn(!on).finally(refresh)),
    onSettled: refresh,
  });
  const { test, go } = useConnectionTest();
  const login = useServerLogin(s.id, false, logsIn(s) && can(me, 'tools:call'));
  const away = login.data !== undefined && login.data.state !== 'live';
  const back = login.data?.state;
  // A login in another tab brings tools here.
  useEffect(() => {
    if (back) void cache.invalidateQueries({ queryKey: ['tools'] });
  }, [back, cache]);

  return (
    <>
      <Head
        title={s.title || s.id}
        crumbs={[['Servers', '/servers']]}
        sub={
          <span className="mono small row">
            <span className="cut">{reach(s)}</span> {s.url && <Copy value={s.url} label="Copy the URL" />}
          </span>
        }
      >
        {can(me, 'servers:write') && (s.mode === 'bring-your-own' || s.mode === 'discovered') && (
          <Button
            variant="default"
            leftSection={<ActivityIcon size={15} />}
            loading={test.busy}
            onClick={() => void go(`/servers/${s.id}/test/steps`).then(refresh)}
          >
            Test connection
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
      {test.error ? <ErrorCard error={test.error} /> : null}
      {(test.busy || test.probe) && (
        <Panel title={test.busy ? 'Connection check' : test.probe?.failed ? 'Unreachable' : 'Connected'} pad>
          <ConnectionSteps test={test} command={s.transport === 'stdio'} secure={/^https:/i.test(s.url ?? '')} />
        </Panel>
      )}
      {away && (
        <section className="notice">
          <LogIn size={16} aria-hidden />
          <p className="grow">
            <b>{perUser(s) ? 'You are not logged in to this server.' : 'No login exists for this server.'}</b>{' '}
            <span className="soft">{login.data?.reason || 'Its tools are available after a login.'}</span>
          </p>
          <Button
            component="a"
            href={`/connect/${s.id}`}
            target="_blank"
            rel="noopener"
            size="compact-sm"
            onClick={() => setTab('sign-in')}
          >
            Log in
          </Button>
        </section>
      )}
      {s.state === 'error' && s.last_error && (
        <section className="fault" role="alert">
          <h3>The server is failing</h3>
          <p className="wrap">{s.last_error}</p>
          {s.mode === 'bring-your-own' && (
            <p className="small soft">“Test connection” checks each step and shows what to do if one fails.</p>
          )}
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
                {d.last_seen ? (
                  <>
                    last seen <Ago at={d.last_seen} />
                  </>
                ) : (
                  'Never connected'
                )}
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
          <div className="value">{tools.data ? count(tools.total) : '–'}</div>
          <div className="note">about {count(s.tokens)} tokens</div>
        </div>
      </div>
      <Tabs
        label="Sections of the server"
        now={tab}
        choose={setTab}
        tabs={[
          ['tools', `Tools ${tools.data ? count(tools.total) : ''}`],
          ...(can(me, 'audit:read') ? ([['activity', 'Activity']] as [string, string][]) : []),
          ...(made
            ? ([
                ['edit', 'Edit'],
                ['document', 'Document'],
              ] as [string, string][])
            : []),
          ...(s.discovered
            ? []
            : ([
                ['resources', `Resources ${offer.data ? offer.data.resources.length + offer.data.templates.length : ''}`],
                ['prompts', `Prompts ${offer.data?.prompts.length ?? ''}`],
              ] as [string, string][])),
          ...(hasSignIn(s) ? ([['sign-in', 'Sign-in']] as [string, string][]) : []),
          ...(d ? ([['diagnostics', 'Diagnostics']] as [string, string][]) : []),
          ...(changes.data?.length ? ([['changes', `Changes ${changes.data.length}`]] as [string, string][]) : []),
          ['settings', 'Settings'],
          ...(can(me, 'admin') ? ([['history', 'History']] as [string, string][]) : []),
        ]}
      />
      {tab === 'tools' && (
        <Panel>
          <QueryContent query={tools}>
            {() =>
              tools.total === 0 ? (
                <Empty title={s.discovered ? 'Tools are not listed' : 'No tools'}>
                  {s.discovered
                    ? 'The server was discovered on a chain, where anyone can register one. Only deliveries call it.'
                    : s.state === 'active'
                      ? 'The server has no tools or has not answered yet.'
                      : 'The server is disabled or failing.'}
                </Empty>
              ) : (
                <>
                  <ToolRows tools={tools.all ?? []} server={false} />
                  <NextPage pages={tools} near />
                </>
              )
            }
          </QueryContent>
        </Panel>
      )}
      {tab === 'activity' && (
        <Activity
          of={{ by: 'server', first: s.id }}
          filter={{ server: s.id }}
          more={(choice) => <ServerOutages server={s.id} choice={choice} />}
        >
          {(choice) => <TopTools choice={choice} server={s.id} />}
        </Activity>
      )}
      {made && (tab === 'edit' || tab === 'document') && (
        <Suspense fallback={<Loading />}>
          <ApiTabs s={s} may={writes} part={tab} />
        </Suspense>
      )}
      {tab === 'resources' && (
        <Panel>
          <QueryContent query={offer}>
            {(o) =>
              o.resources.length + o.templates.length === 0 ? (
                <Empty title="No resources" />
              ) : (
                <Items server={s.id} kind="resource" items={[...o.resources, ...o.templates]} />
              )
            }
          </QueryContent>
        </Panel>
      )}
      {tab === 'prompts' && (
        <Panel>
          <QueryContent query={offer}>
            {(o) => (o.prompts.length === 0 ? <Empty title="No prompts" /> : <Items server={s.id} kind="prompt" items={o.prompts} />)}
          </QueryContent>
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
      {tab === 'sign-in' && <SignIn s={s} />}
      {tab === 'history' && can(me, 'admin') && <History object="server" id={s.id} />}
      {tab === 'settings' && <ServerSettings s={s} writes={writes} />}
    </>
  );
}

const text = (v: unknown): string => (typeof v === 'string' ? v : '');

function Items({ server, kind, items }: { server: string; kind: 'resource' | 'prompt'; items: Record<string, unknown>[] }) {
  const tries = can(useMe().data, 'tools:call');
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
            {tries && (
              <Button
                component={Link}
                href={`/playground?${new URLSearchParams({ kind, server, name: key })}`}
                variant="default"
                size="compact-sm"
                leftSection={<Play size={13} />}
              >
                Try
              </Button>
            )}
          </div>
        );
      })}
    </div>
  );
}
