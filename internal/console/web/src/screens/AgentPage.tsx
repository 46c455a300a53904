import { Button, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { type Agent, type Schemas, send } from '../api/client';
import { useAgent, useAgentTools, useMe } from '../api/data';
import { can } from '../app/permissions';
import { Activity } from '../parts/Activity';
import { Confirm } from '../parts/Confirm';
import { DayChart } from '../parts/DayChart';
import { Ago, Copy, Head, Panel, Scroll, Tabs, Tag } from '../parts/elements';
import { count, span } from '../parts/format';
import { History } from '../parts/History';
import { instanceURL } from '../parts/instanceURL';
import { type Bound, LimitInput } from '../parts/LimitInput';
import { Principal } from '../parts/Principal';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { TopTools } from '../parts/TopList';
import { toast } from '../parts/toasts';
import { forgetUnsaved } from '../parts/unsaved';
import { useParam } from '../parts/url';
import { useEdits, useSave } from '../parts/useEdits';
import { AgentDetails } from './agent/AgentDetails';
import { Brain } from './agent/Brain';
import { Publication } from './agent/Publication';
import { KeyList } from './KeyList';
import { ToolPicker } from './ToolPicker';
import { ToolRows } from './ToolRows';
import { sinceOf, useSums } from './usage';

export default function AgentPage({ name }: { name: string }) {
  const agent = useAgent(name);
  return <QueryContent query={agent}>{(a) => <Page a={a} />}</QueryContent>;
}

function Page({ a }: { a: Schemas['AgentDetails'] }) {
  const me = useMe().data;
  const [tab, setTab] = useParam('tab', 'can');
  const tools = useAgentTools(a.name);
  const cache = useQueryClient();
  const may = can(me, 'agents:write') && !a.declared;
  const change = useMutation({
    mutationFn: (body: Partial<Agent> | { brain: null }) => send('PATCH', `/agents/${a.name}`, body),
    onSettled: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  const turn = useMutation({
    mutationFn: (disabled: boolean) => change.mutateAsync({ disabled }),
    onSuccess: (_, disabled) =>
      toast(`${a.title || a.name} is ${disabled ? 'disabled' : 'enabled'}`, () => change.mutateAsync({ disabled: !disabled })),
  });
  const endpoint = `${instanceURL()}/mcp/a/${a.name}`;
  return (
    <>
      <Head
        title={a.title || a.name}
        crumbs={[['Agents', '/agents']]}
        sub={
          <span className="row small">
            <Tag>{a.role}</Tag> <code>{endpoint}</code> <Copy value={endpoint} label="Copy the endpoint" />
          </span>
        }
      >
        {may && (
          <Switch
            label={a.disabled ? 'off' : 'on'}
            checked={!a.disabled}
            disabled={change.isPending}
            onChange={(e) => turn.mutate(!e.currentTarget.checked)}
          />
        )}
      </Head>
      {change.error && <ErrorCard error={change.error} />}
      <Tabs
        label="Sections of the agent"
        now={tab}
        choose={setTab}
        tabs={[
          ['can', `Effective tools ${tools.data?.length ?? ''}`],
          ['list', 'Allowed tools'],
          ...(may || a.brain ? ([['brain', 'Model & rules']] as [string, string][]) : []),
          ['published', 'A2A'],
          ...(can(me, 'keys:write') ? ([['keys', 'Keys']] as [string, string][]) : []),
          ['limits', 'Limits'],
          can(me, 'admin') ? ['activity', 'Activity'] : ['usage', 'Usage'],
          ['more', 'Details'],
          ...(can(me, 'admin') ? ([['history', 'History']] as [string, string][]) : []),
        ]}
      />
      {tab === 'can' && (
        <Panel
          title="Tools that the agent sees and can call"
          acts={tools.data && <span className="small soft">about {count(tools.data.reduce((n, t) => n + t.tokens, 0))} tokens</span>}
        >
          <QueryContent query={tools}>
            {(all) =>
              all.length === 0 ? (
                <Empty title="No tools available">No tool is allowed, or the allowed tools cannot be called.</Empty>
              ) : (
                <ToolRows tools={all} />
              )
            }
          </QueryContent>
        </Panel>
      )}
      {tab === 'can' && !!a.withheld?.length && <Withheld tools={a.withheld} />}
      {tab === 'list' && <Grants key={a.name} a={a} may={may} />}
      {tab === 'brain' && <Brain key={a.name} a={a} may={may} takeAway={() => change.mutate({ brain: null })} busy={change.isPending} />}
      {tab === 'published' && <Publication a={a} may={may} save={(published) => change.mutate({ published })} busy={change.isPending} />}
      {tab === 'keys' && <Keys a={a} />}
      {tab === 'limits' && <Limits key={a.name} a={a} may={may} />}
      {tab === 'activity' && (
        <Activity of={{ by: 'agent', first: a.name }} filter={{ agent: a.name }}>
          {(choice) => <TopTools choice={choice} agent={a.name} />}
        </Activity>
      )}
      {tab === 'usage' && <Usage a={a} />}
      {tab === 'history' && can(me, 'admin') && <History object="agent" id={a.name} />}
      {tab === 'more' && (
        <>
          <AgentDetails key={a.name} a={a} may={may} />
          <More a={a} may={may} />
        </>
      )}
    </>
  );
}

// Withheld lists the allowed tools that the agent cannot call.
function Withheld({ tools }: { tools: Schemas['WithheldTool'][] }) {
  return (
    <Panel title="Allowed tools that the agent cannot call">
      <div className="rows">
        {tools.map((t) => (
          <div key={`${t.server}/${t.tool}`}>
            <span className="mono small">
              {t.server}/{t.tool}
            </span>
            <span className="small soft">{t.reason}</span>
          </div>
        ))}
      </div>
    </Panel>
  );
}

// grantsOf has a field for each tool that an agent may use, so that two people who give
// it different tools are in nobody's way.
const grantsOf = (a: Agent): Record<string, boolean> => Object.fromEntries([...a.tools].sort().map((t) => [t, true]));
const listOf = (fields: Record<string, boolean>) => Object.keys(fields).filter((t) => fields[t]);

function Grants({ a, may }: { a: Agent; may: boolean }) {
  const cache = useQueryClient();
  const form = useEdits(a, grantsOf);
  const grants = listOf(form.fields);
  const set = (next: string[]) =>
    form.edit({
      ...Object.fromEntries(Object.keys(form.fields).map((t) => [t, next.includes(t)])),
      ...Object.fromEntries(next.map((t) => [t, true])),
    });
  const same = [...grants].sort().join() === listOf(form.stored).sort().join();
  const saving = useSave({
    of: form,
    fieldsOf: grantsOf,
    request: () => ['PATCH', `/agents/${a.name}`],
    bodyOf: (fields) => ({ tools: listOf(fields) }),
    done: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  return (
    <div className="stack">
      <ToolPicker role={a.role} grants={grants} change={set} disabled={!may} />
      {may && (
        <div className="acts">
          <Button disabled={same} loading={saving.busy} onClick={saving.save}>
            Save allowed tools
          </Button>
          {!same && (
            <Button variant="default" onClick={() => form.reset()}>
              Reset
            </Button>
          )}
        </div>
      )}
      {saving.error !== null && <ErrorCard error={saving.error} />}
      {saving.dialog}
    </div>
  );
}

function Keys({ a }: { a: Agent }) {
  const me = useMe().data;
  if (!can(me, 'keys:write')) return <Empty title="Only developers and admins can see keys" />;
  return <KeyList agent={a.name} />;
}

const limitsOf = (a: Agent): Schemas['Limits'] => ({ ...a.limits });

function Limits({ a, may }: { a: Agent; may: boolean }) {
  const cache = useQueryClient();
  const form = useEdits(a, limitsOf);
  const limits = form.fields;
  const saving = useSave({
    of: form,
    fieldsOf: limitsOf,
    request: () => ['PATCH', `/agents/${a.name}`],
    bodyOf: (limits) => ({ limits }),
    done: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  const remove = useMutation({
    mutationFn: () => send('PATCH', `/agents/${a.name}`, { limits: null }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  });
  const field = (key: Bound, label: string, description: string) => (
    <LimitInput label={label} description={description} disabled={!may} value={limits[key]} change={(v) => form.edit({ [key]: v })} />
  );
  return (
    <Panel pad>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          saving.save();
        }}
      >
        <p className="soft">
          {a.limits
            ? 'The agent has its own limits.'
            : `The agent has the limits of ${a.tier ? `the tier ${a.tier}` : 'its owner’s tier'}. Values here replace them.`}{' '}
          Its calls also count for its owner.
        </p>
        <div className="columns">
          {field('per_second', 'Calls per second', 'Average rate.')}
          {field('burst', 'Burst', 'Calls that may come together after a pause.')}
          {field('per_day', 'Calls per day', 'Days are in UTC.')}
          {field('concurrent', 'Concurrency', 'Calls that run at the same time.')}
        </div>
        {may && (
          <div className="acts">
            <Button type="submit" disabled={form.edited.length === 0} loading={saving.busy}>
              Save
            </Button>
            {a.limits && (
              <Button
                variant="default"
                loading={remove.isPending}
                onClick={() => remove.mutate(undefined, { onSuccess: () => form.reset() })}
              >
                Remove own limits
              </Button>
            )}
          </div>
        )}
        {(saving.error ?? remove.error) ? <ErrorCard error={saving.error ?? remove.error} /> : null}
        {saving.dialog}
      </form>
    </Panel>
  );
}

function Usage({ a }: { a: Agent }) {
  const days = 30;
  const since = sinceOf(days);
  const usage = useSums('tool', since, { agent: a.name });
  const daily = useSums('day', since, { agent: a.name });
  return (
    <div className="stack" style={{ gap: '1.125rem' }}>
      <DayChart
        query={daily}
        since={since}
        days={days}
        filter={{ agent: a.name }}
        empty={<Empty title="No calls yet">The agent made no calls in the last {days} days.</Empty>}
      />
      <Panel
        acts={
          <Link className="link small" href={`/calls?agent=${a.name}`}>
            View all calls
          </Link>
        }
        title="By tool"
      >
        <QueryContent query={usage}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No calls yet" />
            ) : (
              <Scroll label="Usage">
                <table className="list">
                  <thead>
                    <tr>
                      <th>Tool</th>
                      <th className="right">Calls</th>
                      <th className="right">Failed</th>
                      <th className="right">Refused</th>
                      <th className="right wide">p95</th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((u) => (
                      <tr key={`${u.server}/${u.name}`}>
                        <td className="mono">
                          {u.server}/{u.name}
                        </td>
                        <td className="right num">{count(u.calls)}</td>
                        <td className="right num">{count(u.errors)}</td>
                        <td className="right num">{count(u.refused)}</td>
                        <td className="right num wide">{span(u.p95_ns)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </QueryContent>
      </Panel>
    </div>
  );
}

function More({ a, may }: { a: Agent; may: boolean }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const [asked, { open, close }] = useDisclosure();
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/agents/${a.name}`),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ['agents'], exact: true });
      forgetUnsaved();
      navigate('/agents');
      toast(`${a.title || a.name} is deleted`);
    },
  });
  return (
    <Panel pad>
      <div className="stack">
        <dl className="facts">
          <dt>Owner</dt>
          <dd>{a.owner ? <Principal id={a.owner} /> : '–'}</dd>
          <dt>Resources</dt>
          <dd className="mono">{a.resources.join(', ') || '–'}</dd>
          <dt>Prompts</dt>
          <dd className="mono">{a.prompts.join(', ') || '–'}</dd>
          <dt>Created</dt>
          <dd>
            <Ago at={a.created_at} />
          </dd>
          <dt>Changed</dt>
          <dd>
            <Ago at={a.updated_at} />
          </dd>
          {a.declared && (
            <>
              <dt>Declared in</dt>
              <dd>
                <code>{a.declared}</code>. Change it in that file.
              </dd>
            </>
          )}
        </dl>
        {may && (
          <div>
            <Button color="red" variant="light" onClick={open}>
              Delete the agent
            </Button>
          </div>
        )}
      </div>
      {asked && (
        <Confirm title={`Delete ${a.name}?`} act="Delete" typed={a.name} of={remove} run={() => remove.mutate()} close={close}>
          <p>Its keys stop working and its open sessions end. Records are kept.</p>
        </Confirm>
      )}
    </Panel>
  );
}
