import './chat/chat.css';
import { Button, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { MessagesSquare, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api/client';
import { makeRoom, useRooms } from '../api/rooms';
import { Ago } from '../parts/elements';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { RoomForm, roomBody, usualRoom } from './chat/RoomForm';
import { RoomView } from './chat/RoomView';

// Chat has the rooms at one side and a conversation at the other; where there is
// little room, one of both.
export default function Chat({ id = '' }: { id?: string }) {
  const rooms = useRooms();
  const [making, setMaking] = useParam('new');
  const Title = id ? 'h2' : 'h1';
  const make = (
    <Button size="compact-sm" leftSection={<Plus size={14} />} onClick={() => setMaking('1')}>
      New room
    </Button>
  );
  return (
    <div className="chat" data-open={id !== ''}>
      <aside className="rooms" aria-label="Rooms">
        <div className="rooms-head">
          <Title className="grow">Chat</Title>
          {make}
        </div>
        <QueryContent query={rooms}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={<MessagesSquare size={28} strokeWidth={1.5} aria-hidden />} title="No rooms yet">
                A room has people and agents. Each agent can use only its allowed tools.
              </Empty>
            ) : (
              <nav aria-label="All rooms">
                {byActivity(all).map((r) => (
                  <Link key={r.id} href={`/chat/${r.id}`} className="room-row" aria-current={r.id === id ? 'page' : undefined}>
                    <span className="row plain">
                      <b className="cut grow">{r.name}</b>
                      <span className="tiny soft" title="Last activity">
                        <Ago at={activityOf(r)} />
                      </span>
                    </span>
                    <span className="tiny soft cut">{whoIsIn(r)}</span>
                  </Link>
                ))}
              </nav>
            )
          }
        </QueryContent>
      </aside>
      <section className="chat-open" aria-label="Open room">
        {id ? (
          <RoomView key={id} id={id} />
        ) : (
          <Empty icon={<MessagesSquare size={28} strokeWidth={1.5} aria-hidden />} title="Open a room" action={make}>
            Agents answer there with their allowed tools. Every call is recorded.
          </Empty>
        )}
      </section>
      {making !== '' && <NewRoom close={() => setMaking('')} />}
    </div>
  );
}

// activityOf is when somebody last wrote in a room, or made it.
const activityOf = (r: Schemas['Room']) => r.last_message_at ?? r.created_at;

const byActivity = (rooms: readonly Schemas['Room'][]) =>
  [...rooms].sort((a, b) => new Date(activityOf(b)).getTime() - new Date(activityOf(a)).getTime());

const whoIsIn = (r: Schemas['Room']) => r.members.map((m) => m.agent ?? m.name ?? m.user).join(', ') || 'no members';

function NewRoom({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const [fields, setFields] = useState(usualRoom);
  const make = useMutation({
    mutationFn: makeRoom,
    onSuccess: async (r) => {
      await cache.invalidateQueries({ queryKey: ['rooms'], exact: true });
      navigate(`/chat/${r.id}`);
    },
  });
  return (
    <Modal opened onClose={close} title="New room" size="lg">
      <RoomForm
        r={fields}
        change={(part) => setFields((f) => ({ ...f, ...part }))}
        save={() => make.mutate(roomBody(fields))}
        busy={make.isPending}
        error={make.error}
        verb="Create room"
      />
    </Modal>
  );
}
