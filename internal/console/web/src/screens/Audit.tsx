import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Download, Search } from 'lucide-react';
import { useDeferredValue } from 'react';
import { Link } from 'wouter';
import { get, type Page, query, type Schemas } from '../api/client';
import { useMe, useWho } from '../api/data';
import { can } from '../app/may';
import { Ago, Head, Panel, Scroll, Status } from '../parts/bits';
import { doorNames, ended, shown } from '../parts/calls';
import { span } from '../parts/format';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { Verify } from './audit/Verify';

type Entry = Schemas['Entry'];

const spans: [string, string, number][] = [
  ['1h', 'The last hour', 3600_000],
  ['1d', 'The last day', 86_400_000],
  ['7d', 'The last week', 7 * 86_400_000],
  ['', 'All that is kept', 0],
];
const minute = 60_000;

export default function Audit() {
  const name = useWho();
  const me = useMe().data;
  const [text, setText] = useParam('q');
  const [tool, setTool] = useParam('tool');
  const [status, setStatus] = useParam('status');
  const [back, setBack] = useParam('back', '1d');
  const width = spans.find(([k]) => k === back)?.[2] ?? 0;
  const filter = useDeferredValue(
    query({
      text,
      tool,
      status,
      since: width ? new Date(Math.floor((Date.now() - width) / minute) * minute).toISOString() : undefined,
    }).slice(1),
  );
  const pages = useInfiniteQuery({
    queryKey: ['history', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      get<Page<Entry>>(
        `/calls/history?${new URLSearchParams([...new URLSearchParams(filter), ['limit', '50'], ...(pageParam ? [['cursor', pageParam]] : [])] as string[][])}`,
        signal,
      ),
    getNextPageParam: (last) => last.next || undefined,
  });
  const all = pages.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      <Head title="Audit" sub="Every call with what was said in it, secrets taken out, and the proof that no record of it was touched.">
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
      {me?.tenant === 'default' && can(me, 'admin') && <Verify />}
      <div className="row">
        <TextInput
          className="grow"
          style={{ minWidth: '12rem' }}
          leftSection={<Search size={14} />}
          placeholder="Text in what was said, or in the reason"
          aria-label="Text"
          value={text}
          onChange={(e) => setText(e.currentTarget.value)}
        />
        <TextInput placeholder="server__tool" aria-label="Tool" value={tool} onChange={(e) => setTool(e.currentTarget.value)} />
        <NativeSelect
          aria-label="Outcome"
          value={status}
          onChange={(e) => setStatus(e.currentTarget.value)}
          data={[{ value: '', label: 'Any outcome' }, ...ended]}
        />
        <NativeSelect
          aria-label="How far back"
          value={back}
          onChange={(e) => setBack(e.currentTarget.value)}
          data={spans.map(([value, label]) => ({ value, label }))}
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
          <Empty title="No call matches">Look further back, or for less.</Empty>
        ) : (
          <Scroll label="Calls">
            <table className="list">
              <thead>
                <tr>
                  <th>When</th>
                  <th>Outcome</th>
                  <th>What</th>
                  <th className="wide">Who</th>
                  <th className="wide">Door</th>
                  <th className="wide">What was asked</th>
                  <th className="right">Took</th>
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
                    <td className="wide soft cut">{name(c)}</td>
                    <td className="wide soft">{doorNames[c.door] ?? c.door}</td>
                    <td className="wide mono tiny soft cut">{c.reason || JSON.stringify(c.params?.arguments ?? c.params ?? {})}</td>
                    <td className="right num soft">{span(c.duration_ns)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Panel>
      {pages.hasNextPage && (
        <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => pages.fetchNextPage()}>
          More
        </Button>
      )}
    </>
  );
}
