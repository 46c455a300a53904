import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Pause, Play, X } from 'lucide-react';
import { memo, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { type Call, get, query } from '../api/client';
import { useWho } from '../api/data';
import { merge, useFeed } from '../api/feed';
import { entryPointNames, entryPoints, shown, statuses, statusName, who } from '../parts/calls';
import { Head, Panel, Status } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { absolute, clock, count, span } from '../parts/format';
import { type CallPage, MoreCalls, totalOf } from '../parts/MoreCalls';
import { periods, sinceOf } from '../parts/period';
import { fromLocal, toLocal } from '../parts/range';
import { matches } from '../parts/search';
import { Empty, ErrorCard, Loading } from '../parts/states';
import { useParam } from '../parts/url';
import { Virtual } from '../parts/Virtual';

const height = 42;

// filters are the members of the address that the list of calls on the server has too.
const filters = ['status', 'entry_point', 'server', 'tool', 'caller', 'user', 'agent', 'key', 'view'] as const;

export default function Calls() {
  const feed = useFeed();
  const name = useWho();
  const [params, setParams] = useSearchParams();
  const [q, setQ] = useParam('q');
  const [text] = useDebouncedValue(q, 300);
  const [period, setPeriod] = useParam('period');
  const [after, setAfter] = useParam('since');
  const [until, setUntil] = useParam('until');
  const [server, setServer] = useParam('server');
  const wanted = Object.fromEntries(filters.map((key) => [key, params.get(key) ?? ''])) as Record<(typeof filters)[number], string>;
  const [paused, setPaused] = useState(false);
  const held = useRef<readonly Call[]>([]);
  if (!paused) held.current = feed.calls;
  const live = held.current;

  const since = fromLocal(after) ?? sinceOf(period);
  const end = fromLocal(until);
  const filter = query({ ...wanted, text, since, until: end }).slice(1);
  const pages = useInfiniteQuery({
    queryKey: ['calls', 'pages', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      get<CallPage<Call>>(
        `/calls?${new URLSearchParams([...new URLSearchParams(filter), ['limit', '200'], ...(pageParam ? [['cursor', pageParam]] : [])] as string[][])}`,
        signal,
      ),
    getNextPageParam: (last) => last.next || undefined,
    refetchOnWindowFocus: false, // new calls come with the feed
  });
  const loaded = pages.data?.pages;
  const last = loaded?.at(-1);

  // biome-ignore lint/correctness/useExhaustiveDependencies: wanted, since and end are in filter
  const list = useMemo(() => {
    const items = loaded?.flatMap((p) => p.items) ?? [];
    const newest = new Map(live.map((c) => [c.id, c])); // a call that ran when its page was loaded may have ended
    // Behind the last page there may be calls that the feed does not have.
    const floor = last?.next ? Date.parse(last.searched_to ?? last.items.at(-1)?.start ?? '') : 0;
    const added = live.filter(
      (c) =>
        (!wanted.entry_point || c.entry_point === wanted.entry_point) &&
        (!wanted.server || c.server === wanted.server) &&
        (!wanted.tool || c.name === wanted.tool || shown(c) === wanted.tool) &&
        (!wanted.caller || c.subject === wanted.caller || name(c) === wanted.caller) &&
        (!wanted.user || c.user === wanted.user) &&
        (!wanted.agent || c.agent === wanted.agent) &&
        (!wanted.key || c.subject === wanted.key) && // the feed names the keys of services only
        (!wanted.view || c.view === wanted.view) &&
        matches(text, shown(c), who(c), name(c), c.reason, c.id) &&
        Date.parse(c.start) >= Math.max(floor, since ? Date.parse(since) : 0) &&
        (!end || Date.parse(c.start) < Date.parse(end)),
    );
    const all = merge(
      items.map((c) => newest.get(c.id) ?? c),
      added,
      Number.POSITIVE_INFINITY,
    );
    return all.filter((c) => !wanted.status || c.status === wanted.status);
  }, [loaded, last, live, filter, name]);
  const servers = useMemo(
    () => [...new Set([server, ...live.map((c) => c.server), ...list.map((c) => c.server)].filter((s): s is string => !!s))].sort(),
    [live, list, server],
  );
  const waiting = paused ? feed.calls.findIndex((c) => c.id === live[0]?.id) : 0;
  const filtered = [...params.keys()].length > 0;
  const set = (key: string, value: string) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        if (value) next.set(key, value);
        else next.delete(key);
        return next;
      },
      { replace: true },
    );

  return (
    <>
      <Head
        title="Calls"
        sub="Every call that is kept, from every entry point, including refused calls. New calls appear as they are made."
      >
        <span className="row plain soft small">
          <span className={`dot ${paused ? 'warn' : feed.live ? 'live' : 'off'}`} />{' '}
          {paused ? `paused${waiting > 0 ? `, ${count(waiting)} new` : ''}` : feed.live ? 'live' : 'connecting'}
        </span>
        <Button variant="default" leftSection={paused ? <Play size={14} /> : <Pause size={14} />} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </Button>
      </Head>
      <div className="row">
        <FilterInput
          label="Search calls"
          placeholder="Tool, caller, request, response or reason"
          minWidth="12rem"
          value={q}
          change={setQ}
        />
        <NameInput label="Tool" placeholder="server__tool" value={wanted.tool} change={(v) => set('tool', v)} />
        <NameInput label="Caller" placeholder="Caller" value={wanted.caller} change={(v) => set('caller', v)} />
      </div>
      <div className="row">
        <NativeSelect
          aria-label="Outcome"
          value={wanted.status}
          onChange={(e) => set('status', e.currentTarget.value)}
          data={[{ value: '', label: 'Any outcome' }, ...statuses.map((s) => ({ value: s, label: statusName(s) }))]}
        />
        <NativeSelect
          aria-label="Entry point"
          value={wanted.entry_point}
          onChange={(e) => set('entry_point', e.currentTarget.value)}
          data={[{ value: '', label: 'Any entry point' }, ...entryPoints.map((d) => ({ value: d, label: entryPointNames[d] ?? d }))]}
        />
        <NativeSelect
          aria-label="Server"
          value={server}
          onChange={(e) => setServer(e.currentTarget.value)}
          data={[{ value: '', label: 'Any server' }, ...servers]}
        />
        <NativeSelect
          aria-label="Time range"
          value={after ? 'since' : period}
          onChange={(e) => {
            setAfter('');
            setPeriod(e.currentTarget.value);
          }}
          data={[...periods.map(([value, label]) => ({ value, label })), ...(after ? [{ value: 'since', label: 'Custom range' }] : [])]}
        />
        <TextInput
          type="datetime-local"
          aria-label="Since"
          title="Only calls that started at this time or later"
          value={toLocal(after)}
          onChange={(e) => setAfter(e.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          aria-label="Before"
          title="Only calls before this time"
          value={toLocal(until)}
          onChange={(e) => setUntil(e.currentTarget.value)}
        />
        {wanted.user && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => set('user', '')}>
            {name({ issuer: 'user', subject: wanted.user })} and their agents
          </Button>
        )}
        {wanted.agent && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => set('agent', '')}>
            {wanted.agent}
          </Button>
        )}
        {wanted.key && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => set('key', '')}>
            Key {name({ issuer: 'key', subject: wanted.key })}
          </Button>
        )}
        {wanted.view && (
          <Button variant="light" rightSection={<X size={13} />} onClick={() => set('view', '')}>
            App view {wanted.view.slice(0, 8)}
          </Button>
        )}
        {filtered && (
          <Button variant="subtle" color="gray" onClick={() => setParams({}, { replace: true })}>
            Clear
          </Button>
        )}
      </div>
      {list.length > 0 && totalOf(loaded?.[0]) && <p className="small soft">{totalOf(loaded?.[0])}</p>}
      {feed.missed > 0 && <p className="small soft">{count(feed.missed)} calls came too fast to be shown as they were made.</p>}
      <Panel>
        {pages.error ? (
          <div className="pad">
            <ErrorCard error={pages.error} retry={() => pages.refetch()} />
          </div>
        ) : pages.isPending ? (
          <Loading rows={8} />
        ) : list.length === 0 ? (
          <Empty title={last?.next ? 'No call found yet' : filtered ? 'No call matches' : 'No calls yet'}>
            {filtered ? (
              'New calls that match appear here.'
            ) : (
              <>
                Call a tool in the{' '}
                <Link className="link" href="/playground">
                  playground
                </Link>
                , or use any client.
              </>
            )}
          </Empty>
        ) : (
          <Virtual
            count={list.length}
            height={height}
            label="Calls"
            row={(i) => <Line key={list[i]?.id} c={list[i] as Call} name={name(list[i] as Call)} />}
          />
        )}
      </Panel>
      <MoreCalls last={last} loading={pages.isFetchingNextPage} load={() => pages.fetchNextPage()} />
      <p className="small soft">
        {last?.next ? `${count(list.length)} calls so far.` : `${count(list.length)} calls.`} The{' '}
        <Link className="link" href="/audit">
          audit
        </Link>{' '}
        has requests and responses.
      </p>
    </>
  );
}

// NameInput is a filter by a name. Half a name names nothing, which is an error, so it
// counts when it was typed to its end.
function NameInput({
  label,
  placeholder,
  value,
  change,
}: {
  label: string;
  placeholder: string;
  value: string;
  change: (v: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [before, setBefore] = useState(value);
  if (before !== value) {
    setBefore(value);
    setTyped(value);
  }
  return (
    <TextInput
      placeholder={placeholder}
      aria-label={label}
      value={typed}
      onChange={(e) => setTyped(e.currentTarget.value)}
      onBlur={() => change(typed.trim())}
      onKeyDown={(e) => e.key === 'Enter' && change(typed.trim())}
    />
  );
}

// Line is drawn again only when its call has changed, however fast others come.
const Line = memo(function Line({ c, name }: { c: Call; name: string }) {
  const at = new Date(c.start);
  return (
    <li className="line" style={{ height }}>
      <Link href={`/calls/${c.id}`} className="row plain toolrow small" style={{ height: '100%', padding: '0 1rem', gap: '0.875rem' }}>
        <time className="num soft" dateTime={c.start} title={absolute(at)} style={{ flex: 'none' }}>
          {clock(at)}
        </time>
        <span style={{ flex: 'none', width: '4.75rem' }}>
          <Status status={c.status} />
        </span>
        <span className="grow row plain">
          <span className="mono cut" style={{ fontWeight: 500 }}>
            {shown(c)}
          </span>
          {c.reason && <span className="soft cut wide">{c.reason}</span>}
        </span>
        <span className="soft cut wide" style={{ width: '9rem', flex: 'none' }} title={`${c.issuer}: ${c.subject}`}>
          {name}
        </span>
        <span className="soft wide" style={{ width: '4.5rem', flex: 'none' }}>
          {entryPointNames[c.entry_point] ?? c.entry_point}
        </span>
        <span className="num soft" style={{ width: '4rem', flex: 'none', textAlign: 'right' }}>
          {c.status === 'running' ? '…' : span(c.duration_ns)}
        </span>
      </Link>
    </li>
  );
});
