import { useQuery } from '@tanstack/react-query';
import type { RoomEvent } from '../screens/chat/agui';
import type { Message } from '../screens/chat/room';
import type { SurfaceAction } from '../surface/actions';
import type { Problem } from '../surface/tree';
import { ask, Failure, get, getAll, type Page, query, type Schemas, send } from './client';
import { stream } from './stream';

// Rooms, as the API has them.

export type Room = Schemas['Details'];
export type Member = Schemas['Member'];
export type Policy = Room['policy'];
export type RoomFields = Pick<Room, 'name' | 'members' | 'policy' | 'max_rounds' | 'approvals'>;
export type Approval = Schemas['CallApproval'];
export type InPlay = Schemas['AgentTools'];

export interface Decision {
  allow: boolean;
  remember: boolean;
}

const at = (id: string) => `/rooms/${encodeURIComponent(id)}`;

export const useRooms = (enabled = true) =>
  useQuery({
    queryKey: ['rooms'],
    queryFn: ({ signal }) => getAll<Schemas['Room']>('/rooms', signal),
    select: (p) => p.items,
    refetchInterval: 15_000,
    enabled,
  });
export const useRoomInfo = (id: string) => useQuery({ queryKey: ['rooms', id], queryFn: ({ signal }) => get<Room>(at(id), signal) });
export const useInPlay = (id: string) =>
  useQuery({
    queryKey: ['rooms', id, 'tools'],
    queryFn: ({ signal }) => get<{ items: InPlay[] }>(`${at(id)}/tools`, signal),
    select: (p) => p.items,
    staleTime: 15_000,
  });
export const useApprovals = (id: string) =>
  useQuery({
    queryKey: ['rooms', id, 'approvals'],
    queryFn: ({ signal }) => getAll<Approval>(`${at(id)}/approvals`, signal),
    select: (p) => p.items,
  });

export const makeRoom = (fields: RoomFields) => send<Schemas['Room']>('POST', '/rooms', fields);
export const roomPath = at;
export const forgetAllowed = (id: string) => send<Room>('PATCH', at(id), { forget: true });
export const removeRoom = (id: string) => send('DELETE', at(id));
export const stopRun = (id: string, run: string) => send('POST', `${at(id)}/runs/${encodeURIComponent(run)}/stop`);

export const messagePage = 50;
// readMessages reads the newest messages before one, the oldest first.
export const readMessages = async (id: string, before = '', signal?: AbortSignal) =>
  [...(await get<Page<Message>>(`${at(id)}/messages${query({ before, limit: messagePage })}`, signal)).items].reverse();
export const searchMessages = async (id: string, q: string, signal: AbortSignal) =>
  [...(await get<Page<Message>>(`${at(id)}/messages${query({ q })}`, signal)).items].reverse();
export const exportRoom = async (id: string, format: 'markdown' | 'json') =>
  (await ask('GET', `${at(id)}/export${query({ format })}`)).blob();

// roomEvents is where a browser hears what happens in a room.
export const roomEvents = (id: string) => `/api/v1${at(id)}/stream`;

// startRun has the room answer. It is over as soon as the run has begun: what
// then happens is heard on the room's own stream, like everybody's.
async function startRun(id: string, what: Record<string, unknown>): Promise<void> {
  const path = `${at(id)}/runs`;
  const control = new AbortController();
  let begun = false;
  let failed: string | undefined;
  const body = { threadId: id, runId: crypto.randomUUID(), state: {}, messages: [], tools: [], context: [], forwardedProps: {}, ...what };
  try {
    await stream('POST', path, body, control.signal, (e) => {
      if (begun) return;
      const event = JSON.parse(e.data) as RoomEvent;
      if (event.type === 'RUN_ERROR') failed = event.message ?? '';
      begun = true;
      control.abort();
    });
  } catch (error) {
    if (!begun) throw error;
  }
  if (failed !== undefined) throw new Failure({ code: 'internal', detail: failed || 'The run did not start.' }, `POST ${path}`);
}

export const say = (id: string, text: string, agent: string) =>
  startRun(id, {
    messages: [{ id: crypto.randomUUID(), role: 'user', content: text }],
    forwardedProps: agent ? { agent } : {},
  });

// press tells an agent what a person did on its surface.
export const press = (id: string, agent: string, action: SurfaceAction) =>
  startRun(id, {
    messages: [{ id: crypto.randomUUID(), role: 'user', content: '' }],
    forwardedProps: { agent, action },
  });

// report tells what could not be shown of a message's surface.
export const report = (id: string, message: string, surfaceId: string, problems: Problem[]) =>
  send('POST', `${at(id)}/messages/${encodeURIComponent(message)}/report`, {
    errors: problems.slice(0, 50).map((p) => ({ surfaceId, code: p.code, path: p.path, message: p.message.slice(0, 500) })),
  });

export const decide = (id: string, decisions: Record<string, Decision>) =>
  startRun(id, {
    resume: Object.entries(decisions).map(([interruptId, payload]) => ({ interruptId, status: 'resolved', payload })),
  });
