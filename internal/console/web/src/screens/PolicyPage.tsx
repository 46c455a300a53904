import { Button, Switch } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useLocation } from 'wouter';
import { useMe } from '../api/data';
import { type PolicyEntry, usePolicies, usePolicy } from '../api/policies';
import { can } from '../app/permissions';
import { Ago, Head, Panel, Tabs, Tag } from '../parts/elements';
import { History } from '../parts/History';
import { draftOf, messageOf } from '../parts/policy';
import { ErrorCard, Loading } from '../parts/states';
import { forgetUnsaved } from '../parts/unsaved';
import { useParam } from '../parts/url';
import { mayChange, useRemove, useSetMode } from './policies/change';
import { RuleActivity } from './policies/RuleActivity';
import { RuleForm } from './policies/RuleForm';
import { PolicyState, VerdictTag } from './policies/tags';

export default function PolicyPage({ name }: { name: string }) {
  const rule = usePolicy(name);
  const stored = usePolicies();
  if (rule.data && stored.data) return <Page e={rule.data} stored={stored.data} />;
  const error = rule.error ?? stored.error;
  return error ? <ErrorCard error={error} retry={() => Promise.all([rule.refetch(), stored.refetch()])} /> : <Loading page />;
}

function Page({ e, stored }: { e: PolicyEntry; stored: PolicyEntry[] }) {
  const me = useMe().data;
  const [, navigate] = useLocation();
  const [tab, setTab] = useParam('tab', 'rule');
  const admin = can(me, 'admin');
  const may = mayChange(me, e);
  const mode = useSetMode();
  const remove = useRemove(stored, () => {
    forgetUnsaved();
    navigate('/policies');
  });
  const wrong = (e.problems ?? []).filter((p) => !p.warning || e.state === 'unchecked');
  const error = mode.error ?? remove.error;
  return (
    <>
      <Head
        title={e.name}
        crumbs={[['Policies', '/policies']]}
        sub={
          <span className="row">
            {e.title && <span>{e.title}</span>}
            <VerdictTag verdict={e.verdict} filter={e.filter !== undefined} /> <PolicyState e={e} />
            {e.mode === 'audit' && <Tag title="The rule only records what it would do">audit</Tag>}
            {e.operators && <Tag>operator</Tag>} {e.declared && <Tag>declared in {e.declared}</Tag>}
            <span className="small">
              number {e.position} · changed <Ago at={e.updated_at} />
            </span>
          </span>
        }
      >
        {may && (
          <>
            <Switch
              label="Enforced"
              checked={e.mode !== 'audit'}
              disabled={mode.isPending}
              onChange={(ev) => mode.mutate({ e, mode: ev.currentTarget.checked ? 'enforce' : 'audit' })}
            />
            <Button variant="light" color="red" loading={remove.isPending} onClick={() => remove.mutate(e)}>
              Remove
            </Button>
          </>
        )}
      </Head>
      {error && <ErrorCard error={error} />}
      {e.state !== 'active' && (
        <div className="notice">
          <TriangleAlert size={16} aria-hidden />
          <div className="small stack tight">
            <b>
              {e.state === 'broken' ? 'The condition does not fit the tools of the target.' : 'The rule is not checked yet.'}{' '}
              {e.mode === 'audit' || e.verdict === 'allow'
                ? 'It has no effect on calls of these tools.'
                : 'Calls of these tools are denied.'}
            </b>
            {[...new Set(wrong.map((p) => `${p.tool ? `${p.tool}: ` : ''}${messageOf(p)}`))].slice(0, 5).map((text) => (
              <span key={text} className="wrap">
                {text}
              </span>
            ))}
          </div>
        </div>
      )}
      {admin && (
        <Tabs
          label="Sections of the rule"
          now={tab}
          choose={setTab}
          tabs={[
            ['rule', 'Rule'],
            ['activity', 'Activity'],
            ['history', 'History'],
          ]}
        />
      )}
      {admin && tab === 'history' ? (
        <History object="policy" id={e.name} />
      ) : admin && tab === 'activity' ? (
        <RuleActivity name={e.name} />
      ) : e.restricted ? (
        <Panel pad>
          <p className="soft">This is an operator’s rule. Only operators see its target and its condition.</p>
        </Panel>
      ) : (
        <RuleForm key={e.name} had={draftOf(e)} of={e} stored={stored} fixed={!may} />
      )}
    </>
  );
}
