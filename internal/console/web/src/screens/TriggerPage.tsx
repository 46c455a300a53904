import { Button, Modal, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { send } from '../api/client';
import { useMe } from '../api/data';
import { type Trigger, useDeliveries, useTrigger } from '../api/events';
import { can } from '../app/permissions';
import { Activity } from '../parts/Activity';
import { DeliveryCharts } from '../parts/DeliveryCharts';
import { Head, Panel, Tabs, Tag } from '../parts/elements';
import { History } from '../parts/History';
import { Empty, ErrorCard, Loading, QueryContent } from '../parts/states';
import { toast } from '../parts/toasts';
import { bodyOf, draftOf } from '../parts/trigger';
import { forgetUnsaved } from '../parts/unsaved';
import { useParam } from '../parts/url';
import { DeliveryRows } from './deliveries/DeliveryRows';
import { actionOf, matchOf } from './triggers/summary';
import { TriggerEditor } from './triggers/TriggerEditor';

export default function TriggerPage({ name }: { name: string }) {
  const trigger = useTrigger(name);
  if (trigger.data) return <Page t={trigger.data} />;
  return trigger.error ? <ErrorCard error={trigger.error} retry={() => trigger.refetch()} /> : <Loading page />;
}

function Page({ t }: { t: Trigger }) {
  const me = useMe().data;
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const [removing, { open, close }] = useDisclosure();
  const [tab, setTab] = useParam('tab', 'settings');
  const admin = can(me, 'admin');
  const may = admin && !t.declared;
  const turn = (disabled: boolean) => send('PATCH', `/triggers/${t.name}`, { disabled });
  const refresh = () => cache.invalidateQueries({ queryKey: ['triggers'] });
  const change = useMutation({
    mutationFn: (disabled: boolean) => turn(disabled),
    onSuccess: (_, disabled) => toast(`${t.name} is ${disabled ? 'disabled' : 'enabled'}`, () => turn(!disabled).finally(refresh)),
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/triggers/${t.name}`),
    onSuccess: async () => {
      forgetUnsaved();
      navigate('/triggers');
      toast(`${t.name} is deleted`, () =>
        send('POST', '/triggers', { name: t.name, disabled: t.disabled, ...bodyOf(draftOf(t)) }).finally(refresh),
      );
      cache.removeQueries({ queryKey: ['triggers', t.name] });
      await cache.invalidateQueries({ queryKey: ['triggers'], exact: true });
    },
  });
  return (
    <>
      <Head
        title={t.name}
        crumbs={[['Triggers', '/triggers']]}
        sub={
          <>
            {t.title || `${matchOf(t.match)} → ${actionOf(t.action)}`} {t.declared && <Tag>declared in {t.declared}</Tag>}
          </>
        }
      >
        {may && (
          <>
            <Switch
              label="Enabled"
              checked={!t.disabled}
              disabled={change.isPending}
              onChange={(e) => change.mutate(!e.currentTarget.checked)}
            />
            <Button variant="light" color="red" onClick={open}>
              Delete
            </Button>
          </>
        )}
      </Head>
      {change.error && <ErrorCard error={change.error} />}
      {admin && (
        <Tabs
          label="Sections of the trigger"
          now={tab}
          choose={setTab}
          tabs={[
            ['settings', 'Settings'],
            ['activity', 'Activity'],
            ['history', 'History'],
          ]}
        />
      )}
      {admin && tab === 'history' ? (
        <History object="trigger" id={t.name} />
      ) : admin && tab === 'activity' ? (
        <Activity
          of={{ by: 'caller', first: 'trigger', second: t.name }}
          filter={{ entry_point: 'delivery', caller: t.name }}
          tokens={false}
          more={(choice) => <DeliveryCharts choice={choice} filter={{ trigger: t.name }} calls={{ caller: t.name }} />}
        />
      ) : (
        <>
          <TriggerEditor key={t.name} had={draftOf(t)} of={t} fixed={!may} />
          <Recent name={t.name} />
        </>
      )}
      <Modal opened={removing} onClose={close} title={`Delete ${t.name}?`}>
        <div className="stack">
          <p className="soft">Events no longer fire this trigger. Its deliveries are kept, and waiting ones are still made.</p>
          {remove.error && <ErrorCard error={remove.error} />}
          <div className="acts">
            <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
              Delete
            </Button>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </div>
        </div>
      </Modal>
    </>
  );
}

function Recent({ name }: { name: string }) {
  const pages = useDeliveries({ trigger: name }, 8);
  return (
    <Panel
      title="Recent deliveries"
      acts={
        <Link className="link small" href={`/deliveries?trigger=${name}`}>
          View all
        </Link>
      }
    >
      <QueryContent query={{ ...pages, data: pages.all }} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No deliveries yet">No event has fired this trigger.</Empty>
          ) : (
            <DeliveryRows list={list.slice(0, 8)} />
          )
        }
      </QueryContent>
    </Panel>
  );
}
