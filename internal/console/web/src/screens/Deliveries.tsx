import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ListChecks, MailX, RotateCcw, Send } from 'lucide-react';
import { Link } from 'wouter';
import { useMe } from '../api/data';
import { type Delivery, useDeliveries } from '../api/events';
import { can } from '../app/permissions';
import { Head, Panel } from '../parts/elements';
import { NextPage } from '../parts/NextPage';
import { Empty, QueryContent } from '../parts/states';
import { BulkDialog } from './deliveries/BulkDialog';
import { DeliveryRows } from './deliveries/DeliveryRows';
import { activeFilter, Filters, useFilter } from './deliveries/Filters';

export default function Deliveries() {
  return <DeliveryList title="Deliveries" sub="Tool calls for events. Each is made at least once, and those of one agent in order." />;
}

// DeliveryList is the list of deliveries, or of those in one state.
export function DeliveryList({ title, sub, state }: { title: string; sub: string; state?: Delivery['state'] }) {
  const me = useMe().data;
  const filter = activeFilter(useFilter(state));
  const pages = useDeliveries(filter);
  const [bulk, { open, close }] = useDisclosure();
  const narrowed = Object.keys(filter).length > (state ? 1 : 0);
  return (
    <>
      <Head title={title} sub={sub}>
        {can(me, 'admin') &&
          (state === 'dead' ? (
            <Button leftSection={<RotateCcw size={14} />} disabled={!pages.all?.length} onClick={open}>
              Replay all
            </Button>
          ) : (
            <Button
              variant="default"
              leftSection={<ListChecks size={15} />}
              disabled={!narrowed}
              title={narrowed ? undefined : 'Filter the list first'}
              onClick={open}
            >
              Bulk actions
            </Button>
          ))}
      </Head>
      <nav className="tabs" aria-label="Deliveries">
        <Link href="/deliveries" aria-current={state ? undefined : 'page'}>
          All deliveries
        </Link>
        <Link href="/dead" aria-current={state ? 'page' : undefined}>
          Dead letters
        </Link>
      </nav>
      <Filters list={pages.all ?? []} {...(state ? { fixed: state } : {})} />
      <Panel>
        <QueryContent query={{ ...pages, data: pages.all }} rows={8}>
          {(list) =>
            list.length > 0 ? (
              <DeliveryRows list={list} />
            ) : narrowed ? (
              <Empty title="No delivery matches">New deliveries that match appear here.</Empty>
            ) : state === 'dead' ? (
              <Empty icon={<MailX size={28} strokeWidth={1.5} aria-hidden />} title="No dead letters">
                Deliveries that fail permanently are kept here for 90 days. You can replay them.
              </Empty>
            ) : (
              <Empty icon={<Send size={28} strokeWidth={1.5} aria-hidden />} title="No deliveries yet">
                An event makes deliveries when it fires a{' '}
                <Link className="link" href="/triggers">
                  trigger
                </Link>
                .
              </Empty>
            )
          }
        </QueryContent>
      </Panel>
      <NextPage pages={pages} />
      <BulkDialog filter={filter} opened={bulk} close={close} />
    </>
  );
}
