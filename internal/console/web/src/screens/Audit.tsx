import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { Link } from 'wouter';
import { get, query, type Schemas } from '../api/client';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { ended, entryPointNames, shown } from '../parts/calls';
import { Ago, Head, Panel, Scroll, Status, Tabs } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { span } from '../parts/format';
import { type CallPage, MoreCalls } from '../parts/MoreCalls';
import { PrincipalName } from '../parts/Principal';
import { periods, sinceOf } from '../parts/period';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { Changes } from './audit/Changes';
import { Verify } from './audit/Verify';

type Entry = Schemas['Entry'];

export default function Audit() {
  const me = useMe().data;
  const [tab, setTab] = useParam('tab', 'calls');
  const admin = can(me, 'admin');
  const view = admin && tab === 'changes' ? 'changes' : 'calls';
  const tabs = (
    <Tabs
      label="Views of the audit log"
      now={view}
      choose={setTab}
      tabs={[
        ['calls', 'Calls'],
        ['changes', 'Changes'],
      ]}
    />
  );
  if (view === 'changes')
    return (
      <>
        <Head
          title="Audit log"
          sub="Every administrative change: who, when, from where, and each value before and after, without secrets."
        />
        {tabs}
        <Changes />
      </>
    );
  return <CallHistory tabs={admin && tabs} />;
}

// CallHistory lists the records of calls.
function CallHistory({ tabs }: { tabs: ReactNode }) {
  const me = useMe().data;
  const [text, setText] = useParam('q');
  const [tool, setTool] = useParam('tool');
  const [typed, setTyped] = useState(tool); // half a name names no tool, which is an error
  const [status, setStatus] = useParam('status');
  const [back, setBack] = useParam('back', '1d');
  const filter = useDeferredValue(
    query({
      text,
      tool,
      status,
      since: sinceOf(back),
    }).slice(1),
  );
  const pages = useInfiniteQuery({
    queryKey: ['history', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      get<CallPage<Entry>>(
        `/calls/history?${new URLSearchParams([...new URLSearchParams(filter), ['limit', '50'], ...(pageParam ? [['cursor', pageParam]] : [])] as string[][])}`,
        signal,
      ),
    getNextPageParam: (last) => last.next || undefined,
  });
  const all = pages.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      <Head
        title="Audit log"
        sub="Every call with its request and response, without secrets. Verify the journal to prove that no record was changed."
      >
        <Button
          component="a"
          variant="default"
          href={`/api/v1/calls/export?${filter}${filter ? '&' : ''}format=csv`}
          leftSection={<Download size={14} />}
        >
          CSV
        </Button>
        <Button component="a" variant="default" href={`/api/v1/calls/export?${filter}`} leftSection={<Download size={14} />}>
          JSON lines
        </Button>
      </Head>
      {tabs}
      {me?.tenant === 'default' && can(me, 'admin') && <Verify />}
      <div className="row">
        <FilterInput label="Text" placeholder="Text in request, response or reason" minWidth="12rem" value={text} change={setText} />
        <TextInput
          placeholder="server__tool"
          aria-label="Tool"
          value={typed}
          onChange={(e) => setTyped(e.currentTarget.value)}
          onBlur={() => setTool(typed)}
          onKeyDown={(e) => e.key === 'Enter' && setTool(typed)}
        />
        <NativeSelect
          aria-label="Outcome"
          value={status}
          onChange={(e) => setStatus(e.currentTarget.value)}
          data={[{ value: '', label: 'Any outcome' }, ...ended]}
        />
        <NativeSelect
          aria-label="Time range"
          value={back}
          onChange={(e) => setBack(e.currentTarget.value)}
          data={periods.map(([value, label]) => ({ value, label }))}
        />
      </div>
      <Panel>
        {pages.error ? (
          <div className="pad">
            <ErrorCard error={pages.error} retry={() => pages.refetch()} />
          </div>
        ) : pages.isPending ? (
          <Loading rows={8} />
        ) : all.length === 0 ? (
          <Empty title={pages.hasNextPage ? 'No call found yet' : 'No call matches'}>Choose a longer time range or fewer filters.</Empty>
        ) : (
          <Scroll label="Calls">
            <table className="list">
              <thead>
                <tr>
                  <th>Time</th>
                  <th>Outcome</th>
                  <th>Name</th>
                  <th className="wide">Caller</th>
                  <th className="wide">Entry point</th>
                  <th className="wide">Request</th>
                  <th className="right">Duration</th>
                </tr>
              </thead>
              <tbody>
                {all.map((c) => (
                  <tr key={c.id}>
                    <td className="soft">
                      <Ago at={c.start} />
                    </td>
                    <td>
                      <Status status={c.status} />
                    </td>
                    <td className="cut">
                      <Link href={`/calls/${c.id}`} className="mono link">
                        {shown(c)}
                      </Link>
                    </td>
                    <td className="wide soft cut">
                      <PrincipalName issuer={c.issuer} subject={c.subject} agent={c.agent} />
                    </td>
                    <td className="wide soft">{entryPointNames[c.entry_point] ?? c.entry_point}</td>
                    <td className="wide mono tiny soft cut">{c.reason || JSON.stringify(c.params?.arguments ?? c.params ?? {})}</td>
                    <td className="right num soft">{span(c.duration_ns)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Panel>
      <MoreCalls last={pages.data?.pages.at(-1)} loading={pages.isFetchingNextPage} load={() => pages.fetchNextPage()} />
    </>
  );
}
