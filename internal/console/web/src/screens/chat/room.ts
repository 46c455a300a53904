import { readSurface, type Surface } from '../../surface/tree.ts';
import { type AppShown, isRecord, outcomeOf, type RoomEvent } from './agui.ts';

// The state of a room as a person sees it: the messages that are kept, and on
// top of them what is being said now. It is a pure function of what was loaded
// and of the events that came, so that both may come in any order and twice.

export type CallState = 'running' | 'waiting' | 'done' | 'failed' | 'denied' | 'lost';

export interface RoomCall {
  id: string;
  name: string;
  server?: string;
  tool?: string;
  arguments?: unknown;
  state: CallState;
  result_text?: string;
  result?: unknown; // the whole of it, where an App wants it
  record?: string;
  view?: string;
}

export interface Message {
  id: string;
  at: string;
  author: { kind: 'user' | 'agent' | 'system'; name: string; id?: string };
  run?: string;
  text: string;
  calls?: RoomCall[];
  outcome?: string; // why the turn ended, where it did not end well
  aside?: string; // the call of another agent that it answers
  surfaces?: unknown[]; // what it shows beside its text
  action?: unknown; // what was done on a surface, where that is what was said
}

// ShownMessage is a message on the screen.
export interface ShownMessage extends Omit<Message, 'surfaces'> {
  calls: RoomCall[];
  surfaces: Surface[];
  kept: boolean; // the room has it; until then it is known from events alone
  live: boolean; // more of it comes
  cut: boolean; // its beginning was missed, and comes with the kept message
  heard: string; // its text as events told it
  read: string; // its text as it was loaded
}

export interface Room {
  messages: readonly ShownMessage[];
  run: string; // that goes on, "" for none
  ended: '' | 'success' | 'interrupt' | 'cancelled' | 'failed'; // how the last one ended
  error: string;
  limited: string; // the agent that a limit kept from going on
  agents: Readonly<Record<string, string>>; // by the id of their part of a run
  asides: readonly string[]; // parts that answer another agent
  atWork: readonly string[];
  thinking: string;
  writing: Readonly<Record<string, string>>; // arguments of calls that are not whole yet
}

export const emptyRoom: Room = {
  messages: [],
  run: '',
  ended: '',
  error: '',
  limited: '',
  agents: {},
  asides: [],
  atWork: [],
  thinking: '',
  writing: {},
};

export type RoomChange =
  | { kind: 'loaded'; messages: Message[] } // one page of what is kept
  | { kind: 'opened' } // the stream begins, and with it the run that goes on
  | { kind: 'events'; events: RoomEvent[]; at: string };

export function reduce(room: Room, h: RoomChange): Room {
  switch (h.kind) {
    case 'loaded':
      return { ...room, messages: merge(room.messages, h.messages) };
    case 'opened':
      return stopped(room, room.ended);
    case 'events':
      return h.events.reduce((r, e) => apply(r, e, h.at), room);
  }
}

const over = (s: CallState) => s !== 'running' && s !== 'waiting';

// merge puts a page of kept messages in its place. A kept message is the truth,
// but for what events have told since it was read.
export function merge(now: readonly ShownMessage[], page: readonly Message[]): readonly ShownMessage[] {
  const first = page[0];
  const last = page.at(-1);
  if (!first || !last) return now;
  const known = new Map(now.map((m) => [m.id, m]));
  const inPage = new Set(page.map((m) => m.id));
  const others = now.filter((m) => m.kept && !inPage.has(m.id));
  return [
    ...others.filter((m) => m.at < first.at),
    ...page.map((m) => join(known.get(m.id), m)),
    ...others.filter((m) => m.at > last.at),
    ...now.filter((m) => !m.kept && !inPage.has(m.id)),
  ];
}

// withSurfaces are the ids of messages whose turn shows something: an agent's messages of
// one run follow each other, and what it shows often comes after the calls.
export function withSurfaces(messages: readonly ShownMessage[]): Set<string> {
  const turn = (m: ShownMessage) => (m.run ? `${m.run} ${m.author.name}` : m.id);
  const showing = new Set(messages.filter((m) => m.surfaces.length > 0).map(turn));
  return new Set(messages.filter((m) => showing.has(turn(m))).map((m) => m.id));
}

function join(had: ShownMessage | undefined, kept: Message): ShownMessage {
  const surfaces = (kept.surfaces ?? []).flatMap((v) => readSurface(v) ?? []);
  const said: ShownMessage = {
    ...kept,
    calls: kept.calls ?? [],
    surfaces,
    kept: true,
    live: false,
    cut: false,
    heard: '',
    read: kept.text,
  };
  if (!had) return said;
  const before = new Map(had.calls.map((c) => [c.id, c]));
  said.calls = said.calls.map((c) => {
    const b = before.get(c.id);
    if (!b) return c;
    before.delete(c.id);
    return over(b.state) && !over(c.state) ? { ...c, ...b } : { ...b, ...c };
  });
  said.calls.push(...before.values());
  said.surfaces = surfaces.reduce(withSurface, had.surfaces);
  return heard({ ...said, live: had.live, cut: had.cut, heard: had.heard });
}

// withSurface puts a surface in the place of one with its id. The same one again
// is left as it is, with what a person has filled in.
function withSurface(all: Surface[], s: Surface): Surface[] {
  const had = all.find((h) => h.id === s.id);
  if (!had) return [...all, s];
  return JSON.stringify(had) === JSON.stringify(s) ? all : all.map((h) => (h === had ? s : h));
}

// heard gives a message the text that is to be seen: while more comes, the longer
// of what is kept and what was told; then what is kept.
function heard(m: ShownMessage): ShownMessage {
  const told = m.live && !m.cut && m.heard.length > m.read.length;
  const text = told || (!m.read && m.heard) ? m.heard : m.read;
  return { ...m, text, cut: m.cut && text === m.heard && !m.read };
}

function apply(room: Room, e: RoomEvent, at: string): Room {
  switch (e.type) {
    case 'RUN_STARTED':
      return {
        ...room,
        run: e.runId ?? '',
        ended: '',
        error: '',
        limited: '',
        agents: {},
        asides: [],
        atWork: [],
        thinking: '',
        writing: {},
      };
    case 'RUN_FINISHED': {
      const { kind, interrupts } = outcomeOf(e);
      const waits = (r: Room, id: string | undefined) => changeCall(r, id, (c) => ({ ...c, state: 'waiting' }));
      return stopped(
        interrupts.reduce((r, i) => waits(r, i.toolCallId), room),
        kind,
      );
    }
    case 'RUN_ERROR':
      return { ...stopped(room, 'failed'), error: e.message ?? 'The run failed.' };
    case 'SUBAGENT_STARTED': {
      const name = e.name ?? '';
      return {
        ...room,
        agents: { ...room.agents, [e.subagentRunId ?? '']: name },
        asides: e.parentSubagentRunId ? [...room.asides, e.subagentRunId ?? ''] : room.asides,
        atWork: [...room.atWork.filter((n) => n !== name), name],
      };
    }
    case 'SUBAGENT_FINISHED':
    case 'SUBAGENT_ERROR': {
      const name = room.agents[e.subagentRunId ?? ''] ?? '';
      const failed = e.type === 'SUBAGENT_ERROR' && e.message ? `${name}: ${e.message}` : '';
      return { ...room, atWork: room.atWork.filter((n) => n !== name), thinking: '', error: failed || room.error };
    }
    case 'TEXT_MESSAGE_START':
      return say(room, e, at, (m) => heard({ ...m, live: true, cut: false, heard: '' }));
    case 'TEXT_MESSAGE_CONTENT':
    case 'TEXT_MESSAGE_CHUNK':
      return say(room, e, at, (m) =>
        heard({ ...m, live: true, cut: m.cut || (!m.live && e.type === 'TEXT_MESSAGE_CONTENT'), heard: m.heard + (e.delta ?? '') }),
      );
    case 'TEXT_MESSAGE_END': // what was kept in the middle of it counts no more
      return change(room, e.messageId, (m) => heard({ ...m, live: false, read: !m.cut && m.heard.length > m.read.length ? '' : m.read }));
    case 'TOOL_CALL_START':
    case 'TOOL_CALL_CHUNK':
      return called(room, e, at);
    case 'TOOL_CALL_ARGS':
      return e.toolCallId === undefined ? room : { ...room, writing: { ...room.writing, [e.toolCallId]: written(room, e) } };
    case 'TOOL_CALL_END': {
      const { [e.toolCallId ?? '']: text, ...writing } = room.writing;
      const args = parsed(text);
      return changeCall({ ...room, writing }, e.toolCallId, (c) => (args === undefined ? c : { ...c, arguments: args }));
    }
    case 'TOOL_CALL_RESULT':
      return changeCall(room, e.toolCallId, (c) => ({
        ...c,
        state: over(c.state) ? c.state : 'done',
        result_text: typeof e.content === 'string' ? e.content : c.result_text,
      }));
    case 'CUSTOM':
      if (!isRecord(e.value)) return room;
      if (e.name === 'junctor.limit') return { ...room, limited: text(e.value.agent) ?? '' };
      return e.name === 'junctor.call' ? recorded(room, e.value) : room;
    case 'ACTIVITY_SNAPSHOT':
      if (!isRecord(e.content)) return room;
      if (e.activityType === 'a2ui-surface') return drawn(room, e, e.content, at);
      return e.activityType === 'mcp-apps' ? shown(room, e.content as unknown as AppShown) : room;
    case 'REASONING_MESSAGE_START':
    case 'REASONING_START':
      return { ...room, thinking: '' };
    case 'REASONING_MESSAGE_CONTENT':
    case 'REASONING_MESSAGE_CHUNK':
      return { ...room, thinking: room.thinking + (e.delta ?? '') };
    case 'REASONING_END':
      return { ...room, thinking: '' };
    default:
      return room; // what is new to us changes nothing
  }
}

// stopped has nobody at work any more.
function stopped(room: Room, ended: Room['ended']): Room {
  const messages = room.messages.some((m) => m.live)
    ? room.messages.map((m) => (m.live ? heard({ ...m, live: false }) : m))
    : room.messages;
  return { ...room, messages, run: '', ended, atWork: [], thinking: '', writing: {} };
}

const written = (room: Room, e: RoomEvent) => (room.writing[e.toolCallId ?? ''] ?? '') + (e.delta ?? '');

function parsed(text: string | undefined): unknown {
  if (!text) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function change(room: Room, id: string | undefined, f: (m: ShownMessage) => ShownMessage): Room {
  if (!room.messages.some((m) => m.id === id)) return room;
  return { ...room, messages: room.messages.map((m) => (m.id === id ? f(m) : m)) };
}

// say changes a message, which begins where it is not known.
function say(room: Room, e: RoomEvent, at: string, f: (m: ShownMessage) => ShownMessage): Room {
  const id = e.messageId;
  if (!id) return room;
  if (room.messages.some((m) => m.id === id)) return change(room, id, f);
  if (e.role === 'user') return room; // what people say is loaded
  return { ...room, messages: [...room.messages, f(begin(room, e, id, at))] };
}

const begin = (room: Room, e: RoomEvent, id: string, at: string): ShownMessage => ({
  id,
  at,
  author:
    e.role === 'system'
      ? { kind: 'system', name: '' }
      : { kind: 'agent', name: room.agents[e.subagentRunId ?? ''] ?? e.name ?? room.atWork.at(-1) ?? '' },
  run: room.run,
  ...(room.asides.includes(e.subagentRunId ?? '') ? { aside: 'live' } : {}),
  text: '',
  calls: [],
  surfaces: [],
  kept: false,
  live: false,
  cut: false,
  heard: '',
  read: '',
});

function called(room: Room, e: RoomEvent, at: string): Room {
  const id = e.toolCallId;
  if (!id) return room;
  if (e.type === 'TOOL_CALL_CHUNK' && e.delta) room = { ...room, writing: { ...room.writing, [id]: written(room, e) } };
  // A call that waited for a person begins again, and is the same call.
  const known = e.parentMessageId
    ? room.messages.some((m) => m.id === e.parentMessageId && m.calls.some((c) => c.id === id))
    : holder(room.messages, id) >= 0;
  if (known) return changeCall(room, id, (c) => (c.state === 'waiting' ? { ...c, state: 'running' } : c));
  const call: RoomCall = { id, name: e.toolCallName ?? '', state: 'running' };
  const parent = e.parentMessageId ?? `of ${id}`;
  const within = room.messages.some((m) => m.id === parent) ? room : { ...room, messages: [...room.messages, begin(room, e, parent, at)] };
  return change(within, parent, (m) => ({ ...m, calls: [...m.calls, call] }));
}

// holder is the newest message that has a call: models of two agents may give
// theirs the same id.
const holder = (messages: readonly ShownMessage[], id: string) => messages.findLastIndex((m) => m.calls.some((c) => c.id === id));

function changeCall(room: Room, id: string | undefined, f: (c: RoomCall) => RoomCall): Room {
  const at = id === undefined ? -1 : holder(room.messages, id);
  if (at < 0) return room;
  const messages = room.messages.map((m, i) => (i === at ? { ...m, calls: m.calls.map((c) => (c.id === id ? f(c) : c)) } : m));
  return { ...room, messages };
}

const text = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined);

function recorded(room: Room, v: Record<string, unknown>): Room {
  return changeCall(room, text(v.toolCallId), (c) => ({
    ...c,
    record: text(v.record) ?? c.record,
    server: text(v.server) ?? c.server,
    tool: text(v.tool) ?? c.tool,
    state: (text(v.state) as CallState | undefined) ?? (v.isError === true && c.state !== 'denied' ? 'failed' : c.state),
  }));
}

const shown = (room: Room, a: AppShown): Room =>
  changeCall(room, a.toolCallId, (c) => ({
    ...c,
    view: a.resourceUri,
    server: a.serverId ?? c.server,
    arguments: a.toolInput ?? c.arguments,
    result: a.result ?? c.result,
  }));

// drawn gives a message the surface that an event tells of, whose own id names
// both.
function drawn(room: Room, e: RoomEvent, content: Record<string, unknown>, at: string): Room {
  const surface = readSurface(content.surface);
  if (!surface) return room;
  const before = `ui-${surface.id}-`;
  const id = e.messageId?.startsWith(before) ? e.messageId.slice(before.length) : e.messageId;
  const name = text(content.agent);
  const of: RoomEvent = { ...e, messageId: id, role: 'assistant', ...(name ? { name } : {}) };
  return say(room, of, at, (m) => ({ ...m, surfaces: withSurface(m.surfaces, surface) }));
}

// reported says whether the room knows that a surface of a message could not be
// shown as it is.
export function reported(messages: readonly ShownMessage[], message: string, surface: string): boolean {
  const from = messages.findIndex((m) => m.id === message);
  return messages.some(
    (m, i) => i > from && m.author.kind === 'system' && isRecord(m.action) && m.action.name === 'error' && m.action.surfaceId === surface,
  );
}

// past are the surfaces that a later message shows anew, by the messages that
// had them: an agent's surface is one thing, whatever is said in between.
export function past(messages: readonly ShownMessage[]): ReadonlyMap<string, string[]> {
  const seen = new Set<string>();
  const found = new Map<string, string[]>();
  for (const m of messages.toReversed()) {
    const old = m.surfaces.filter((s) => seen.has(`${m.author.name}\n${s.id}`)).map((s) => s.id);
    if (old.length > 0) found.set(m.id, old);
    for (const s of m.surfaces) seen.add(`${m.author.name}\n${s.id}`);
  }
  return found;
}
