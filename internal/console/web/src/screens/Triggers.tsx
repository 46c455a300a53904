import { Button, Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus, Zap } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Trigger, useReadyTriggers, useTriggers } from '../api/happenings';
import { can } from '../app/may';
import { Head, Panel, Scroll, Tag } from '../parts/bits';
import { Empty, ErrorCard, Loading, Shown } from '../parts/states';
import { draftOf } from '../parts/trigger';
import { useParam } from '../parts/url';
import { Editor } from './triggers/Editor';
import { actionOf, matchOf } from './triggers/words';

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
        sub={from?.title ?? 'Which events it is for, and the call that follows from them.'}
      />
      <Editor key={making} had={draftOf(from ?? {})} />
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
      <Head title="Triggers" sub="What follows from an event: the right tool of the right agent is called.">
        {add}
      </Head>
      <Panel>
        <Shown query={triggers}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<Zap size={28} strokeWidth={1.5} aria-hidden />} title="No triggers yet" action={add}>
                Events are taken and kept, and nothing follows from them. Add one, or begin with one that is ready-made.
              </Empty>
            ) : (
              <Rows all={all} may={may} />
            )
          }
        </Shown>
      </Panel>
      <Ready may={may} />
    </>
  );
}

function Rows({ all, may }: { all: Trigger[]; may: boolean }) {
  const [, navigate] = useLocation();
  const cache = useQueryClient();
  const change = useMutation({
    mutationFn: (t: Trigger) => send('PATCH', `/triggers/${t.name}`, { disabled: !t.disabled }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['triggers'] }),
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
              <th className="right">On</th>
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
                      aria-label={`${t.name} is on`}
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
    <Panel title="Ready-made">
      <Shown query={ready}>
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
                    aria-label={`Begin with it: ${t.name}`}
                  >
                    Begin with it
                  </Button>
                )}
              </div>
            ))}
          </div>
        )}
      </Shown>
    </Panel>
  );
}
