import { Button, Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus, Zap } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Trigger, useReadyTriggers, useTriggers } from '../api/events';
import { can } from '../app/permissions';
import { Head, Panel, Scroll, Tag } from '../parts/elements';
import { Empty, ErrorCard, Loading, QueryContent } from '../parts/states';
import { toast } from '../parts/toasts';
import { draftOf } from '../parts/trigger';
import { useParam } from '../parts/url';
import { actionOf, matchOf } from './triggers/summary';
import { TriggerEditor } from './triggers/TriggerEditor';

export default function Triggers() {
  const me = useMe().data;
  const ready = useReadyTriggers();
  const [making] = useParam('new');
  const may = can(me, 'admin');
  if (!making || !may) return <List may={may} />;
  // A ready-made one is copied, so its fields wait for it.
  if (ready.isPending) return <Loading page />;
  const from = ready.data?.find((t) => t.name === making);
  return (
    <>
      <Head
        title="Add a trigger"
        crumbs={[['Triggers', '/triggers']]}
        sub={from?.title ?? 'Choose the events and the tool call that they make.'}
      />
      <TriggerEditor key={making} had={draftOf(from ?? {})} />
    </>
  );
}

function List({ may }: { may: boolean }) {
  const triggers = useTriggers();
  const add = may && (
    <Button component={Link} href="/triggers?new=blank" leftSection={<Plus size={15} />}>
      Add a trigger
    </Button>
  );
  return (
    <>
      <Head title="Triggers" sub="Rules that turn events into tool calls.">
        {add}
      </Head>
      <Panel>
        <QueryContent query={triggers}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<Zap size={28} strokeWidth={1.5} aria-hidden />} title="No triggers yet" action={add}>
                Events are stored but make no calls. Add a trigger, or start from a template.
              </Empty>
            ) : (
              <Rows all={all} may={may} />
            )
          }
        </QueryContent>
      </Panel>
      <Ready may={may} />
    </>
  );
}

function Rows({ all, may }: { all: Trigger[]; may: boolean }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const turn = (t: Trigger, disabled: boolean) => send('PATCH', `/triggers/${t.name}`, { disabled });
  const refresh = () => cache.invalidateQueries({ queryKey: ['triggers'] });
  const change = useMutation({
    mutationFn: (t: Trigger) => turn(t, !t.disabled),
    onSuccess: (_, t) => toast(`${t.name} is ${t.disabled ? 'enabled' : 'disabled'}`, () => turn(t, t.disabled ?? false).finally(refresh)),
    onSettled: refresh,
  });
  return (
    <>
      {change.error && (
        <div className="pad">
          <ErrorCard error={change.error} />
        </div>
      )}
      <Scroll label="Triggers">
        <table className="list">
          <thead>
            <tr>
              <th>Trigger</th>
              <th className="wide">When</th>
              <th>Then</th>
              <th className="right">Enabled</th>
            </tr>
          </thead>
          <tbody>
            {all.map((t) => (
              <tr key={t.name} className="on" onClick={() => navigate(`/triggers/${t.name}`)}>
                <td className="cut">
                  <Link href={`/triggers/${t.name}`} style={{ fontWeight: 550 }} onClick={(e) => e.stopPropagation()}>
                    {t.name}
                  </Link>{' '}
                  {t.declared && <Tag title={t.declared}>file</Tag>}
                  <div className="tiny soft cut">{t.title}</div>
                </td>
                <td className="wide small cut">{matchOf(t.match)}</td>
                <td className="mono tiny cut">{actionOf(t.action)}</td>
                <td className="right">
                  {/* biome-ignore lint/a11y/useKeyWithClickEvents: the switch itself is what is reached */}
                  {/* biome-ignore lint/a11y/noStaticElementInteractions: likewise */}
                  <span style={{ display: 'inline-flex' }} onClick={(e) => e.stopPropagation()}>
                    <Switch
                      size="sm"
                      aria-label={`Enable ${t.name}`}
                      checked={!t.disabled}
                      disabled={!may || !!t.declared || change.isPending}
                      onChange={() => change.mutate(t)}
                    />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Ready({ may }: { may: boolean }) {
  const ready = useReadyTriggers();
  return (
    <Panel title="Templates">
      <QueryContent query={ready}>
        {(all) => (
          <div className="rows">
            {all.map((t) => (
              <div key={t.name}>
                <span className="grow">
                  <b style={{ fontWeight: 550 }}>{t.title}</b>
                  <span className="tiny soft cut" style={{ display: 'block' }}>
                    {matchOf(t.match)} <span className="mono">→ {actionOf(t.action)}</span>
                  </span>
                </span>
                {may && (
                  <Button
                    component={Link}
                    href={`/triggers?new=${t.name}`}
                    size="compact-sm"
                    variant="default"
                    aria-label={`Use template ${t.name}`}
                  >
                    Use template
                  </Button>
                )}
              </div>
            ))}
          </div>
        )}
      </QueryContent>
    </Panel>
  );
}
