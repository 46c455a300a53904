import { ActionIcon, Button, Menu, Switch, TextInput } from '@mantine/core';
import { ArrowDown, ArrowUp, Plus, ShieldCheck, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useMe } from '../api/data';
import { type PolicyEntry, usePolicies, usePolicyNumbers, usePolicyTemplates } from '../api/policies';
import { can } from '../app/permissions';
import { ActionMenu } from '../parts/ActionMenu';
import { Head, Panel, Scroll, Tag } from '../parts/elements';
import { count } from '../parts/format';
import { draftOf, messageOf, neighbourOf, targetOf } from '../parts/policy';
import { matches } from '../parts/search';
import { Empty, ErrorCard, Loading, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import './policies/policies.css';
import { mayChange, useMove, useRemove, useSetMode } from './policies/change';
import { RuleForm } from './policies/RuleForm';
import { PolicyState, VerdictTag } from './policies/tags';

export default function Policies() {
  const me = useMe().data;
  const [making] = useParam('new');
  const may = can(me, 'policy:write');
  return making && may ? <NewRule from={making} /> : <List may={may} />;
}

function NewRule({ from }: { from: string }) {
  const templates = usePolicyTemplates();
  const stored = usePolicies();
  // A template is copied, so the fields wait for it.
  if (templates.isPending || stored.isPending) return <Loading page />;
  if (stored.error) return <ErrorCard error={stored.error} retry={() => stored.refetch()} />;
  const template = templates.data?.find((t) => t.name === from);
  return (
    <>
      <Head
        title="Add a rule"
        crumbs={[['Policies', '/policies']]}
        sub={template?.title ?? 'Choose the calls, a condition, and what happens to calls that match.'}
      />
      <RuleForm key={from} had={draftOf(template ?? {})} stored={stored.data ?? []} />
    </>
  );
}

function List({ may }: { may: boolean }) {
  const policies = usePolicies();
  const add = may && (
    <Button component={Link} href="/policies?new=blank" leftSection={<Plus size={15} />}>
      Add a rule
    </Button>
  );
  return (
    <>
      <Head title="Policies" sub="Rules about calls and their results. The first rule that matches and denies or asks decides.">
        {add}
      </Head>
      <Panel>
        <QueryContent query={policies}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<ShieldCheck size={28} strokeWidth={1.5} aria-hidden />} title="No rules yet" action={add}>
                The rights of callers alone decide which calls are made.{' '}
                {may ? 'Add a rule, or start from a template.' : 'Admins can add rules.'}
              </Empty>
            ) : (
              <Rows all={all} />
            )
          }
        </QueryContent>
      </Panel>
      {may && <Templates />}
    </>
  );
}

const few = 40; // rows that are drawn at first

function Rows({ all }: { all: PolicyEntry[] }) {
  const me = useMe().data;
  const [q, setQ] = useState('');
  const [whole, setWhole] = useState(false);
  const admin = can(me, 'admin');
  const lately = usePolicyNumbers(admin);
  const mode = useSetMode();
  const move = useMove(all);
  const remove = useRemove(all);
  const [, navigate] = useLocation();
  const acts = all.some((e) => mayChange(me, e));
  const fitting = all.filter((e) => matches(q, e.name, e.title, e.when, targetOf(e)));
  const shown = whole ? fitting : fitting.slice(0, few);
  const busy = mode.isPending || move.isPending || remove.isPending;
  const error = mode.error ?? move.error ?? remove.error;
  // The button that moved a rule keeps the focus, at its new place.
  const shift = (e: PolicyEntry, step: 1 | -1) =>
    move.mutate({ e, step }, { onSettled: () => requestAnimationFrame(() => document.getElementById(buttonId(e, step))?.focus()) });
  return (
    <>
      {all.length > 12 && (
        <div className="pad" style={{ paddingBottom: 0 }}>
          <TextInput size="xs" placeholder="Find a rule" aria-label="Find a rule" value={q} onChange={(e) => setQ(e.currentTarget.value)} />
        </div>
      )}
      {error && (
        <div className="pad">
          <ErrorCard error={error} />
        </div>
      )}
      <Scroll label="Rules">
        <table className="list rules-list">
          <thead>
            <tr>
              <th className="right">#</th>
              <th>Rule</th>
              <th className="wide">Calls</th>
              <th>Verdict</th>
              <th className="wide">State</th>
              {admin && <th className="wide right">Matched in 24 h</th>}
              <th>Enforced</th>
              {acts && (
                <th>
                  <span className="skip">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((e) => {
              const own = mayChange(me, e);
              const [up, down] = own ? [neighbourOf(all, e, -1), neighbourOf(all, e, 1)] : [];
              const matched = lately.numbers.get(e.name);
              return (
                <tr key={`${e.name} ${e.restricted ?? ''}`} className="on" onClick={() => navigate(pageOf(e))}>
                  <td className="right num soft">{e.position}</td>
                  <td className="cut">
                    <Link href={pageOf(e)} style={{ fontWeight: 550 }} onClick={(ev) => ev.stopPropagation()}>
                      {e.name}
                    </Link>{' '}
                    {e.operators && <Tag title="An operator’s rule for several tenants">operator</Tag>}{' '}
                    {e.declared && <Tag title={e.declared}>file</Tag>}
                    {e.state !== 'active' && (
                      <span className="narrow">
                        <PolicyState e={e} />
                      </span>
                    )}
                    <div className="tiny soft cut">{e.title}</div>
                  </td>
                  <td className="wide small cut">{e.restricted ? <span className="soft">hidden</span> : targetOf(e)}</td>
                  <td>
                    <VerdictTag verdict={e.verdict} filter={e.filter !== undefined} />
                  </td>
                  <td className="wide">
                    <PolicyState e={e} />
                    {e.state === 'broken' && e.problems?.[0] && (
                      <div className="tiny soft cut" title={messageOf(e.problems[0])}>
                        {messageOf(e.problems[0])}
                      </div>
                    )}
                  </td>
                  {admin && <td className="wide right num">{matched ? count(matched.calls) : lately.known ? '0' : '–'}</td>}
                  {/* biome-ignore lint/a11y/useKeyWithClickEvents: the controls themselves are what is reached */}
                  <td onClick={(ev) => ev.stopPropagation()}>
                    <Switch
                      size="sm"
                      aria-label={`Enforce ${e.name}`}
                      title={e.mode === 'audit' ? 'The rule only records what it would do' : 'The rule is enforced'}
                      checked={e.mode !== 'audit'}
                      disabled={!own || busy}
                      onChange={() => mode.mutate({ e, mode: e.mode === 'audit' ? 'enforce' : 'audit' })}
                    />
                  </td>
                  {acts && (
                    // biome-ignore lint/a11y/useKeyWithClickEvents: likewise
                    <td className="right" onClick={(ev) => ev.stopPropagation()}>
                      {own && (
                        <span className="row plain" style={{ gap: 0, justifyContent: 'flex-end' }}>
                          <ActionIcon
                            className="wide"
                            id={buttonId(e, -1)}
                            aria-label={`Move ${e.name} up`}
                            disabled={!up || q !== ''}
                            onClick={() => !busy && shift(e, -1)}
                          >
                            <ArrowUp size={15} />
                          </ActionIcon>
                          <ActionIcon
                            className="wide"
                            id={buttonId(e, 1)}
                            aria-label={`Move ${e.name} down`}
                            disabled={!down || q !== ''}
                            onClick={() => !busy && shift(e, 1)}
                          >
                            <ArrowDown size={15} />
                          </ActionIcon>
                          <ActionMenu label={`Actions for ${e.name}`}>
                            <Menu.Item leftSection={<ArrowUp size={14} />} disabled={!up || q !== ''} onClick={() => shift(e, -1)}>
                              Move up
                            </Menu.Item>
                            <Menu.Item leftSection={<ArrowDown size={14} />} disabled={!down || q !== ''} onClick={() => shift(e, 1)}>
                              Move down
                            </Menu.Item>
                            <Menu.Item leftSection={<Trash2 size={14} />} onClick={() => remove.mutate(e)}>
                              Remove
                            </Menu.Item>
                          </ActionMenu>
                        </span>
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {fitting.length === 0 && <Empty title="No rule matches" />}
      {shown.length < fitting.length && (
        <div className="pad">
          <Button size="compact-sm" variant="default" onClick={() => setWhole(true)}>
            Show all {count(fitting.length)} rules
          </Button>
        </div>
      )}
    </>
  );
}

const pageOf = (e: PolicyEntry) => `/policies/${encodeURIComponent(e.name)}`;
const buttonId = (e: PolicyEntry, step: 1 | -1) => `move-${step < 0 ? 'up' : 'down'}-${e.name}`;

function Templates() {
  const templates = usePolicyTemplates();
  return (
    <Panel title="Templates">
      <QueryContent query={templates}>
        {(all) => (
          <div className="rows">
            {all.map((t) => (
              <div key={t.name}>
                <span className="grow">
                  <b style={{ fontWeight: 550 }}>{t.title || t.name}</b>
                  <span className="tiny soft cut" style={{ display: 'block' }}>
                    {targetOf(t)} {t.when && <code style={{ fontVariantLigatures: 'none' }}>· {t.when}</code>}
                  </span>
                </span>
                <span className="wide">
                  <VerdictTag verdict={t.verdict} filter={false} />
                </span>
                <Button
                  component={Link}
                  href={`/policies?new=${t.name}`}
                  size="compact-sm"
                  variant="default"
                  aria-label={`Use template ${t.name}`}
                >
                  Use template
                </Button>
              </div>
            ))}
          </div>
        )}
      </QueryContent>
    </Panel>
  );
}
