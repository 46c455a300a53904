import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ArrowDown, ChevronLeft, Ellipsis, FileJson, FileText, Search as SearchIcon, Settings2, Wrench } from 'lucide-react';
import { type ReactNode, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useMe } from '../../api/data';
import {
  type Decision,
  decide,
  exportRoom,
  messagePage,
  say,
  stopRun,
  useApprovals,
  useInPlay,
  useRoomInfo,
  type Workspace,
} from '../../api/rooms';
import { counted } from '../../parts/format';
import { save } from '../../parts/save';
import { Empty, ErrorCard, Loading, Shown } from '../../parts/states';
import { useKept } from '../../parts/store';
import { InPlay, RoomSettings, Search } from './Aside';
import type { Judge } from './CallCard';
import { Composer } from './Composer';
import { SaidBy } from './Said';
import { useRoom } from './useRoom';

export function RoomView({ id }: { id: string }) {
  const info = useRoomInfo(id);
  return <Shown query={info}>{(room) => <Conversation info={room} />}</Shown>;
}

const mostOpen = 3; // Apps that open by themselves, the newest ones
const farBack = 100; // pages that are read to reach what was found

function Conversation({ info }: { info: Workspace }) {
  const me = useMe().data;
  const { room, live, loaded, error, older, loadOlder, refresh } = useRoom(info.id);
  const approvals = useApprovals(info.id);
  const [draft, setDraft] = useKept(sessionStorage, `junctor-chat ${info.id}`, '');
  const [to, setTo] = useState('');
  const [aside, setAside] = useState<'' | 'tools' | 'search' | 'settings'>('');
  const [found, setFound] = useState('');
  const [decided, setDecided] = useState<Record<string, Decision>>({});
  const agents = useMemo(() => info.members.flatMap((m) => m.agent ?? []), [info.members]);

  const send = useMutation({
    mutationFn: (more: { text: string; to: string } | undefined) =>
      more ? say(info.id, more.text, more.to) : say(info.id, draft.trim(), agents.includes(to) ? to : ''),
    onSuccess: async (_, more) => {
      if (!more) setDraft('');
      await refresh();
    },
  });
  const stop = useMutation({ mutationFn: () => stopRun(info.id, room.run), onSettled: refresh });
  const judged = useMutation({
    mutationFn: (all: Record<string, Decision>) => decide(info.id, all),
    onSettled: async () => {
      await refresh();
      setDecided({});
    },
  });
  const open = approvals.data;
  const { mutate: judgeAll, isPending: judging } = judged;
  const judge = useMemo<Judge | undefined>(
    () =>
      open && {
        approvals: open,
        decided,
        busy: judging,
        decide: (approval, d) => {
          const next = { ...decided, [approval]: d };
          setDecided(next);
          // A run goes on when all of its calls are judged.
          const run = open.find((a) => a.id === approval)?.run;
          const together = open.filter((a) => a.run === run);
          if (together.every((a) => next[a.id])) judgeAll(Object.fromEntries(together.map((a) => [a.id, next[a.id] as Decision])));
        },
      },
    [open, decided, judging, judgeAll],
  );
  const draftNow = useRef(draft);
  draftNow.current = draft;
  const offer = useCallback((text: string) => setDraft(draftNow.current ? `${draftNow.current}\n${text}` : text), [setDraft]);

  // The newest Apps open by themselves.
  const fresh = useMemo(() => {
    const withApp = room.messages.filter((m) => m.calls.some((c) => c.view));
    return new Set(withApp.slice(-mostOpen).map((m) => m.id));
  }, [room.messages]);

  const reach = async (message: string) => {
    setAside('');
    setFound(message);
    let first = room.messages.find((m) => m.kept)?.id ?? '';
    let has = room.messages.some((m) => m.id === message);
    for (let i = 0; !has && first && i < farBack; i++) {
      const page = await loadOlder(first);
      has = page.some((m) => m.id === message);
      first = page.length === messagePage ? (page[0]?.id ?? '') : '';
    }
    requestAnimationFrame(() => document.getElementById(`m-${message}`)?.scrollIntoView({ block: 'center' }));
  };

  const trouble = send.error ?? stop.error ?? judged.error;
  return (
    <div className="room">
      <Header info={info} live={live} open={setAside} />
      <Talk older={older} loadOlder={() => loadOlder(room.messages[0]?.id ?? '')}>
        {!loaded && <Loading rows={3} />}
        {error ? <ErrorCard error={error} retry={refresh} /> : null}
        {loaded && !error && room.messages.length === 0 && (
          <Empty title="Nothing was said here yet">
            {agents.length === 0
              ? 'Add an agent in the settings of the room.'
              : `${agents.length === 1 ? `${agents[0]} listens.` : `Name one with @: ${agents.map((a) => `@${a}`).join(', ')}.`}`}
          </Empty>
        )}
        {room.messages.map((m, i) => {
          const before = room.messages[i - 1];
          return (
            <SaidBy
              key={m.id}
              m={m}
              mine={m.author.kind === 'user' && m.author.id === `${me?.issuer}:${me?.subject}`}
              goesOn={
                m.author.kind === 'agent' &&
                before?.author.name === m.author.name &&
                before.author.kind === 'agent' &&
                before.aside === m.aside &&
                before.run === m.run
              }
              members={agents}
              judge={m.calls.some((c) => c.state === 'waiting') ? judge : undefined}
              open={fresh.has(m.id)}
              offer={offer}
              writing={m.calls.some((c) => room.writing[c.id] !== undefined) ? room.writing : undefined}
              found={m.id === found}
            />
          );
        })}
      </Talk>
      <footer className="room-foot">
        <div className="at-work small" role="status">
          {room.run && (
            <>
              <span className="dot live" />
              <span className="cut grow">
                {room.atWork.length > 0 ? `${room.atWork.join(', ')} at work` : 'at work'}
                {room.thinking && <span className="soft"> · {room.thinking.slice(-160)}</span>}
              </span>
            </>
          )}
          {!room.run && room.ended === 'cancelled' && <span className="soft">Stopped.</span>}
          {!room.run && (open?.length ?? 0) > 0 && (
            <span>Your word is wanted: {open?.length === 1 ? 'a call waits' : `${open?.length} calls wait`}.</span>
          )}
          {!room.run && room.limited && (
            <>
              <span className="grow">{room.limited} reached a limit.</span>
              <Button
                size="compact-xs"
                variant="default"
                loading={send.isPending}
                onClick={() => send.mutate({ text: 'Go on.', to: room.limited })}
              >
                Let it go on
              </Button>
            </>
          )}
          {room.error && <span className="called-fault wrap">{room.error}</span>}
        </div>
        {trouble && <ErrorCard error={trouble} />}
        <Composer
          agents={agents}
          draft={draft}
          setDraft={setDraft}
          to={agents.includes(to) ? to : ''}
          setTo={setTo}
          running={room.run !== ''}
          busy={send.isPending || judging}
          send={() => send.mutate(undefined)}
          stop={() => stop.mutate()}
        />
      </footer>
      {aside === 'tools' && <InPlay room={info} close={() => setAside('')} />}
      {aside === 'search' && <Search id={info.id} close={() => setAside('')} go={reach} />}
      {aside === 'settings' && <RoomSettings room={info} close={() => setAside('')} />}
    </div>
  );
}

const mostNamed = 3; // agents

function Header({ info, live, open }: { info: Workspace; live: boolean; open: (what: 'tools' | 'search' | 'settings') => void }) {
  const tools = useInPlay(info.id);
  const agents = info.members.flatMap((m) => m.agent ?? []);
  const give = useMutation({
    mutationFn: async (format: 'markdown' | 'json') => {
      const file = info.name.replace(/[^\w-]+/g, '-').toLowerCase() || 'room';
      save(
        `${file}.${format === 'json' ? 'json' : 'md'}`,
        await exportRoom(info.id, format),
        format === 'json' ? 'application/json' : 'text/markdown',
      );
    },
  });
  return (
    <>
      <header className="room-head">
        <Link href="/chat" className="room-back" aria-label="All rooms">
          <ChevronLeft size={18} aria-hidden />
        </Link>
        <span className={`dot ${live ? 'good' : 'off'}`} title={live ? 'What is said appears by itself' : 'Connecting …'} />
        <h1 className="cut">{info.name}</h1>
        <Tooltip label="Who is here, and with which tools">
          <button type="button" className="in-play" onClick={() => open('tools')}>
            {agents.slice(0, mostNamed).map((a) => (
              <span key={a} className="tag each">
                {a}
                <span className="num">
                  <Wrench size={10} aria-hidden /> {tools.data?.find((t) => t.agent === a)?.tools.length ?? '–'}
                </span>
              </span>
            ))}
            {agents.length > mostNamed && <span className="tag each">+{agents.length - mostNamed}</span>}
            {agents.length === 0 && <span className="tag each">no agents</span>}
            <span className="tag together">{counted(agents.length, 'agent')}</span>
          </button>
        </Tooltip>
        <ActionIcon aria-label="Search this room" onClick={() => open('search')}>
          <SearchIcon size={16} />
        </ActionIcon>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon aria-label="More about this room">
              <Ellipsis size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<Wrench size={14} />} onClick={() => open('tools')}>
              Tools in play
            </Menu.Item>
            <Menu.Item leftSection={<FileText size={14} />} onClick={() => give.mutate('markdown')}>
              Export as Markdown
            </Menu.Item>
            <Menu.Item leftSection={<FileJson size={14} />} onClick={() => give.mutate('json')}>
              Export as JSON
            </Menu.Item>
            <Menu.Divider />
            <Menu.Item leftSection={<Settings2 size={14} />} onClick={() => open('settings')}>
              Settings
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </header>
      {give.error && <ErrorCard error={give.error} />}
    </>
  );
}

const near = 80; // pixels from the end that still count as there

// Talk scrolls, and stays at the end while whoever reads is there.
function Talk({ older, loadOlder, children }: { older: boolean; loadOlder: () => Promise<unknown>; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  const [away, setAway] = useState(false);
  const [busy, setBusy] = useState(false);
  const down = useCallback(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);
  useLayoutEffect(() => {
    if (!inner.current) return;
    const grown = new ResizeObserver(() => stays.current && down());
    grown.observe(inner.current);
    return () => grown.disconnect();
  }, [down]);
  const more = async () => {
    const el = box.current;
    if (!el) return;
    setBusy(true);
    const from = el.scrollHeight - el.scrollTop;
    await loadOlder();
    setBusy(false);
    requestAnimationFrame(() => {
      el.scrollTop = el.scrollHeight - from; // what was in view stays in view
    });
  };
  return (
    <div className="talk-box">
      <section
        className="talk"
        aria-label="What was said"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        ref={box}
        onScroll={(e) => {
          const el = e.currentTarget;
          stays.current = el.scrollHeight - el.scrollTop - el.clientHeight < near;
          setAway(!stays.current);
        }}
      >
        <div className="talk-inner" ref={inner} role="log" aria-label="Conversation">
          {older && (
            <Button className="older" size="compact-sm" variant="subtle" loading={busy} onClick={more}>
              What was said before
            </Button>
          )}
          {children}
        </div>
      </section>
      {away && (
        <ActionIcon className="to-end" variant="default" radius="xl" size="lg" aria-label="To the newest" onClick={down}>
          <ArrowDown size={16} />
        </ActionIcon>
      )}
    </div>
  );
}
