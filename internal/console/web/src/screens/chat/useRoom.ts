import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useReducer, useRef, useState } from 'react';
import { onEnded } from '../../api/client';
import { messagePage, readMessages, roomEvents } from '../../api/rooms';
import type { RoomEvent } from './agui';
import { emptyRoom, reduce } from './room';

const pause = 40; // ms: words come faster than anybody reads
const mostPages = 20; // that are read to close a gap

// useRoom keeps a room up to date while somebody looks at it: what is kept is
// loaded, and read again when a run begins or ends and when the stream was lost.
export function useRoom(id: string) {
  const cache = useQueryClient();
  const [room, dispatch] = useReducer(reduce, emptyRoom);
  const [live, setLive] = useState(false);
  const [loaded, setLoaded] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [older, setOlder] = useState(false); // there is more before the first
  const known = useRef(new Set<string>());
  for (const m of room.messages) if (m.kept) known.current.add(m.id);

  const load = useCallback(async () => {
    try {
      let before = '';
      for (let i = 0; i < mostPages; i++) {
        const page = await readMessages(id, before);
        const first = known.current.size === 0;
        const meets = page.some((m) => known.current.has(m.id));
        if (first) setOlder(page.length === messagePage);
        dispatch({ kind: 'loaded', messages: page });
        for (const m of page) known.current.add(m.id);
        before = page[0]?.id ?? '';
        if (first || meets || page.length < messagePage) break;
      }
      setError(null);
    } catch (e) {
      setError(e);
    } finally {
      setLoaded(true);
    }
  }, [id]);

  // loadOlder says whether there is still more.
  const loadOlder = useCallback(
    async (before: string) => {
      const page = await readMessages(id, before);
      dispatch({ kind: 'loaded', messages: page });
      setOlder(page.length === messagePage);
      return page;
    },
    [id],
  );

  const refresh = useCallback(async () => {
    await Promise.all([load(), cache.invalidateQueries({ queryKey: ['rooms'] })]);
  }, [load, cache]);

  useEffect(() => {
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let flush: ReturnType<typeof setTimeout> | undefined;
    let waiting: RoomEvent[] = [];
    let over = false;
    const pass = () => {
      flush = undefined;
      const events = waiting;
      waiting = [];
      dispatch({ kind: 'events', events, at: new Date().toISOString() });
      if (events.some((e) => e.type === 'RUN_STARTED' || e.type === 'RUN_FINISHED' || e.type === 'RUN_ERROR')) void refresh();
    };
    const open = () => {
      source = new EventSource(roomEvents(id));
      source.onopen = () => {
        setLive(true);
        dispatch({ kind: 'opened' });
        void refresh(); // and with it what was missed in between
      };
      source.onmessage = (e: MessageEvent<string>) => {
        waiting.push(JSON.parse(e.data) as RoomEvent);
        flush ??= setTimeout(pass, pause);
      };
      source.onerror = () => {
        setLive(false);
        if (source?.readyState !== EventSource.CLOSED || over) return;
        void load(); // says why
        again = setTimeout(open, 3000);
      };
    };
    const close = () => {
      over = true;
      source?.close();
      clearTimeout(again);
      clearTimeout(flush);
    };
    open();
    const forget = onEnded(close);
    return () => {
      forget();
      close();
    };
  }, [id, load, refresh]);

  return { room, live, loaded, error, older, loadOlder, refresh };
}
