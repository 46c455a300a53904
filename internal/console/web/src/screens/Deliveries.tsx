import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ListChecks, MailX, RotateCcw, Send } from 'lucide-react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { type Delivery, useDeliveries } from '../api/happenings';
import { can } from '../app/may';
import { Head, Panel } from '../parts/bits';
import { More } from '../parts/More';
import { Empty, Shown } from '../parts/states';
import { BulkDialog } from './deliveries/Bulk';
import { Filters, told, useFilter } from './deliveries/Filters';
import { DeliveryRows } from './deliveries/Rows';

export default function Deliveries() {
  return <DeliveryList title="Deliveries" sub="The calls that events led to: each at least once, those of one agent in their order." />;
}

// DeliveryList is the list of deliveries, or of those in one state.
export function DeliveryList({ title, sub, state }: { title: string; sub: string; state?: Delivery['state'] }) {
  const me = useMe().data;
  const filter = told(useFilter(state));
  const pages = useDeliveries(filter);
  const [bulk, { open, close }] = useDisclosure();
  const narrowed = Object.keys(filter).length > (state ? 1 : 0);
  return (
    <>
      <Head title={title} sub={sub}>
        {can(me, 'admin') &&
          (state === 'dead' ? (
            <Button leftSection={<RotateCcw size={14} />} disabled={!pages.all?.length} onClick={open}>
              Replay them
            </Button>
          ) : (
            <Button
              variant="default"
              leftSection={<ListChecks size={15} />}
              disabled={!narrowed}
              title={narrowed ? undefined : 'Say which first: filter the list'}
              onClick={open}
            >
              Do with all of these
            </Button>
          ))}
      </Head>
      <Filters list={pages.all ?? []} {...(state ? { fixed: state } : {})} />
      <Panel>
        <Shown query={{ ...pages, data: pages.all }} rows={8}>
          {(list) =>
            list.length > 0 ? (
              <DeliveryRows list={list} />
            ) : narrowed ? (
              <Empty title="No delivery matches">New ones that do will show up here.</Empty>
            ) : state === 'dead' ? (
              <Empty icon={<MailX size={28} strokeWidth={1.5} aria-hidden />} title="No dead letters">
                What fails for good, or too often, is kept here for 90 days, to be replayed.
              </Empty>
            ) : (
              <Empty icon={<Send size={28} strokeWidth={1.5} aria-hidden />} title="No deliveries yet">
                They are made when an event fires a{' '}
                <Link className="link" href="/triggers">
                  trigger
                </Link>
                .
              </Empty>
            )
          }
        </Shown>
      </Panel>
      <More pages={pages} />
      <BulkDialog filter={filter} opened={bulk} close={close} />
    </>
  );
}
