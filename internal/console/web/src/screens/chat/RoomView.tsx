import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useCallback, useMemo, useRef, useState } from 'react';
import { useMe } from '../../api/data';
import { type Decision, decide, messagePage, press, type Room, report, say, stopRun, useApprovals, useRoomInfo } from '../../api/rooms';
import { Empty, ErrorCard, Loading, QueryContent } from '../../parts/states';
import { useKept } from '../../parts/store';
import type { SurfaceAction } from '../../surface/actions';
import type { Problem } from '../../surface/tree';
import type { ApprovalState } from './CallCard';
import { Composer } from './Composer';
import { MessageItem } from './MessageItem';
import { MessageList } from './MessageList';
import { RoomHead } from './RoomHead';
import { RoomSearch } from './RoomSearch';
import { RoomSettings } from './RoomSettings';
import { RoomTools } from './RoomTools';
import { past, reported, withSurfaces } from './room';
import { Starters } from './Starters';
import { SurfaceHost } from './SurfacePlace';
import { useRoom } from './useRoom';

export function RoomView({ id }: { id: string }) {
  const info = useRoomInfo(id);
  return <QueryContent query={info}>{(room) => <Conversation info={room} />}</QueryContent>;
}

const mostOpen = 3; // Apps that open by themselves, the newest ones
const farBack = 100; // pages that are read to reach what was found

function Conversation({ info }: { info: Room }) {
  const me = useMe().data;
  const { room, live, loaded, error, older, loadOlder, refresh } = useRoom(info.id);
  const approvals = useApprovals(info.id);
  const [draft, setDraft] = useKept(sessionStorage, `junctor-chat ${info.id}`, '');
  const draftNow = useRef(draft);
  draftNow.current = draft;
  const [to, setTo] = useState('');
  const [aside, setAside] = useState<'' | 'tools' | 'search' | 'settings'>('');
  const [found, setFound] = useState('');
  const [decided, setDecided] = useState<Record<string, Decision>>({});
  const agents = useMemo(() => info.members.flatMap((m) => m.agent ?? []), [info.members]);

  // What is sent is what stood there when it was sent, once however often it is
  // asked for; what was written since stays.
  const sending = useRef(false);
  const send = useMutation({
    mutationFn: (what: { text: string; to: string }) => say(info.id, what.text, what.to),
    onSuccess: async (_, what) => {
      if (draftNow.current.trim() === what.text) setDraft('');
      await refresh();
    },
    onSettled: () => {
      sending.current = false;
    },
  });
  const speak = (text: string, agent: string) => {
    if (sending.current) return; // before the page shows that it is busy
    sending.current = true;
    send.mutate({ text, to: agent });
  };
  const pressed = useMutation({
    mutationFn: ({ agent, deed }: { agent: string; deed: SurfaceAction }) => press(info.id, agent, deed),
    onSettled: refresh,
  });
  const stop = useMutation({ mutationFn: (run: string) => stopRun(info.id, run), onSettled: refresh });
  const judged = useMutation({
    mutationFn: (all: Record<string, Decision>) => decide(info.id, all),
    onSettled: async () => {
      await refresh();
      setDecided({});
    },
  });
  const open = approvals.data;
  const { mutate: judgeAll, isPending: judging } = judged;
  const judge = useMemo<ApprovalState | undefined>(
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
  const offer = useCallback((text: string) => setDraft(draftNow.current ? `${draftNow.current}\n${text}` : text), [setDraft]);

  // The newest Apps open by themselves.
  const fresh = useMemo(() => {
    const withApp = room.messages.filter((m) => m.calls.some((c) => c.view));
    return new Set(withApp.slice(-mostOpen).map((m) => m.id));
  }, [room.messages]);
  const replaced = useMemo(() => withSurfaces(room.messages), [room.messages]);
  const begin = (text: string) => {
    setDraft(text);
    document.querySelector<HTMLTextAreaElement>('.composer textarea')?.focus();
  };

  const { mutate: pressOne, isPending: pressing } = pressed;
  const busy = room.run !== '' || pressing || send.isPending || judging;
  // What could not be shown is reported once: by the first client that sees it.
  const now = useRef(room.messages);
  now.current = room.messages;
  const told = useRef(new Set<string>());
  const tellRoom = useCallback(
    (message: string, surface: string, problems: Problem[]) => {
      const key = `${message} ${surface}`;
      if (told.current.has(key) || reported(now.current, message, surface)) return;
      told.current.add(key);
      report(info.id, message, surface, problems).then(refresh, () => undefined); // it is a courtesy
    },
    [info.id, refresh],
  );
  const host = useMemo(
    () => ({ busy, tell: (agent: string, deed: SurfaceAction) => pressOne({ agent, deed }), report: tellRoom }),
    [busy, pressOne, tellRoom],
  );
  const gone = useMemo(() => past(room.messages), [room.messages]);

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

  const trouble = send.error ?? pressed.error ?? stop.error ?? judged.error;
  return (
    <div className="room">
      <RoomHead info={info} live={live} open={setAside} />
      <MessageList older={older} loadOlder={() => loadOlder(room.messages[0]?.id ?? '')}>
        {!loaded && <Loading rows={3} />}
        {error ? <ErrorCard error={error} retry={refresh} /> : null}
        {loaded && !error && room.messages.length === 0 && (
          <Empty title="No messages yet" action={<Starters room={info.id} choose={begin} />}>
            {agents.length === 0
              ? 'Add an agent in the settings of the room.'
              : `${agents.length === 1 ? `${agents[0]} answers your messages.` : `Mention an agent with @: ${agents.map((a) => `@${a}`).join(', ')}.`}`}
          </Empty>
        )}
        <SurfaceHost.Provider value={host}>
          {room.messages.map((m, i) => {
            const before = room.messages[i - 1];
            return (
              <MessageItem
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
                replaced={replaced.has(m.id)}
                offer={offer}
                writing={m.calls.some((c) => room.writing[c.id] !== undefined) ? room.writing : undefined}
                past={gone.get(m.id)?.join('\n') ?? ''}
                found={m.id === found}
              />
            );
          })}
        </SurfaceHost.Provider>
      </MessageList>
      <footer className="room-foot">
        <div className="at-work small" role="status">
          {room.run && (
            <>
              <span className="dot live" />
              <span className="cut grow">
                {room.atWork.length > 0 ? `${room.atWork.join(', ')} working` : 'working'}
                {room.thinking && <span className="soft"> · {room.thinking.slice(-160)}</span>}
              </span>
            </>
          )}
          {!room.run && room.ended === 'cancelled' && <span className="soft">Stopped.</span>}
          {!room.run && (open?.length ?? 0) > 0 && (
            <span>{open?.length === 1 ? 'A call needs' : `${open?.length} calls need`} your approval.</span>
          )}
          {!room.run && room.limited && (
            <>
              <span className="grow">{room.limited} reached a limit.</span>
              <Button size="compact-xs" variant="default" loading={send.isPending} onClick={() => speak('Go on.', room.limited)}>
                Continue
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
          busy={send.isPending || judging || pressing}
          send={() => speak(draft.trim(), agents.includes(to) ? to : '')}
          stop={() => stop.mutate(room.run)}
        />
      </footer>
      {aside === 'tools' && <RoomTools room={info} close={() => setAside('')} />}
      {aside === 'search' && <RoomSearch id={info.id} close={() => setAside('')} go={reach} />}
      {aside === 'settings' && <RoomSettings room={info} close={() => setAside('')} />}
    </div>
  );
}
