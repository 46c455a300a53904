import { Button, Modal, NativeSelect } from '@mantine/core';
import { Radio, Send } from 'lucide-react';
import { useDeferredValue } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useMe } from '../api/data';
import { type Filter, type StoredEvent, useEvents, useSources } from '../api/events';
import { can } from '../app/permissions';
import { Ago, Head, Panel, Scroll, Tag } from '../parts/elements';
import { NextPage } from '../parts/NextPage';
import { SuggestInput } from '../parts/SuggestInput';
import { Empty, QueryContent } from '../parts/states';
import { since, stretches } from '../parts/timeRange';
import { useParam } from '../parts/url';
import { SendEvent } from './events/SendEvent';

export default function Events() {
  const me = useMe().data;
  const [params, setParams] = useSearchParams();
  const [source, setSource] = useParam('source');
  const [type, setType] = useParam('type');
  const [agent, setAgent] = useParam('agent');
  const [back, setBack] = useParam('back');
  const [sending, setSending] = useParam('send');
  const filter: Filter = useDeferredValue({ source, type, agent, since: since(back) });
  const pages = useEvents(filter);
  const sources = useSources();
  const all = pages.all ?? [];
  const filtered = [...params.keys()].some((k) => k !== 'send');
  const may = can(me, 'events:send');
  const send = may && (
    <Button leftSection={<Send size={14} />} onClick={() => setSending('1')}>
      Send an event
    </Button>
  );
  return (
    <>
      <Head title="Events" sub="Events from all sources, as received. Triggers turn them into tool calls.">
        {send}
      </Head>
      <div className="row">
        <SuggestInput
          className="grow"
          style={{ minWidth: '9rem' }}
          aria-label="Type"
          placeholder="Type"
          value={type}
          change={setType}
          known={all.map((e) => e.type)}
        />
        <SuggestInput
          className="grow"
          style={{ minWidth: '9rem' }}
          aria-label="Source"
          placeholder="Source"
          value={source}
          change={setSource}
          known={[...(sources.data?.map((s) => s.id) ?? []), ...all.map((e) => e.source)]}
        />
        <SuggestInput
          className="grow"
          style={{ minWidth: '7rem' }}
          aria-label="Agent"
          placeholder="Agent"
          value={agent}
          change={setAgent}
          known={all.map((e) => e.agent ?? '')}
        />
        <NativeSelect aria-label="Time range" value={back} onChange={(e) => setBack(e.currentTarget.value)} data={stretches} />
        {filtered && (
          <Button variant="subtle" color="gray" onClick={() => setParams({}, { replace: true })}>
            Clear
          </Button>
        )}
      </div>
      <Panel>
        <QueryContent query={{ ...pages, data: pages.all }} rows={8}>
          {(list) =>
            list.length === 0 ? (
              <Empty
                icon={<Radio size={28} strokeWidth={1.5} aria-hidden />}
                title={filtered ? 'No event matches' : 'No events yet'}
                action={!filtered && send}
              >
                {filtered
                  ? 'New events that match appear here.'
                  : 'Events come from webhooks, schedules, Redis, chains, agents or this page.'}
              </Empty>
            ) : (
              <EventRows list={list} />
            )
          }
        </QueryContent>
      </Panel>
      <NextPage pages={pages} />
      <Modal opened={sending !== '' && may} onClose={() => setSending('')} title="Send an event" size="lg">
        {sending !== '' && <SendEvent close={() => setSending('')} />}
      </Modal>
    </>
  );
}

function EventRows({ list }: { list: StoredEvent[] }) {
  const [, navigate] = useLocation();
  return (
    <Scroll label="Events">
      <table className="list">
        <thead>
          <tr>
            <th>Received</th>
            <th>Type</th>
            <th className="wide">Source</th>
            <th>Agent</th>
            <th className="wide">Data</th>
            <th className="right">Deliveries</th>
          </tr>
        </thead>
        <tbody>
          {list.map((e) => (
            <tr key={e.id} className="on" onClick={() => navigate(`/events/${e.id}`)}>
              <td className="soft">
                <Ago at={e.received_at} />
              </td>
              <td className="cut">
                <Link href={`/events/${e.id}`} style={{ fontWeight: 550 }} onClick={(c) => c.stopPropagation()}>
                  {e.type}
                </Link>
              </td>
              <td className="wide mono tiny cut">{e.source}</td>
              <td className="cut">{e.agent || <span className="soft">–</span>}</td>
              <td className="wide mono tiny soft cut">{e.data === undefined ? '' : JSON.stringify(e.data).slice(0, 200)}</td>
              <td className="right num">
                {e.faults && e.faults.length > 0 ? (
                  <Tag tone="bad">{e.faults.length === 1 ? 'fault' : `${e.faults.length} faults`}</Tag>
                ) : e.raised > 0 ? (
                  e.raised
                ) : (
                  <span className="soft">none</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
