import { Button, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { forgetAllowed, type Member, type Room, type RoomFields, removeRoom, roomPath } from '../../api/rooms';
import { editedFields } from '../../parts/edits';
import { Panel } from '../../parts/elements';
import { HistoryButton } from '../../parts/History';
import { ErrorCard } from '../../parts/states';
import { useEdits, useSave } from '../../parts/useEdits';
import { RoomForm, roomBody } from './RoomForm';

const fieldsOf = ({ name, members, policy, max_rounds, approvals }: Room): RoomFields => ({
  name,
  members,
  policy,
  max_rounds,
  approvals,
});

const labels: Record<string, string> = {
  name: 'Name',
  members: 'Members',
  policy: 'Who answers',
  max_rounds: 'Rounds between agents',
  approvals: 'Calls that change something',
};

// RoomSettings changes a room, or ends it.
export function RoomSettings({ room, close }: { room: Room; close: () => void }) {
  const cache = useQueryClient();
  const [, navigate] = useLocation();
  const [sure, setSure] = useState(false);
  const form = useEdits(room, fieldsOf);
  const saving = useSave({
    of: form,
    fieldsOf,
    request: () => ['PATCH', roomPath(room.id)],
    bodyOf: (fields, stored) => {
      const body = roomBody(fields);
      const was = roomBody(fieldsOf(stored));
      return Object.fromEntries(editedFields(was, body).map((k) => [k, body[k]]));
    },
    done: async () => {
      await cache.invalidateQueries({ queryKey: ['rooms'] });
      close();
    },
    labels,
    written: (field, value) =>
      field === 'members' ? (value as Member[]).map((m) => m.agent ?? m.name ?? m.user).join(', ') || 'none' : undefined,
  });
  const forget = useMutation({
    mutationFn: () => forgetAllowed(room.id),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['rooms'] }),
  });
  const remove = useMutation({
    mutationFn: () => removeRoom(room.id),
    onSuccess: async () => {
      navigate('/chat');
      cache.removeQueries({ queryKey: ['rooms', room.id] });
      await cache.invalidateQueries({ queryKey: ['rooms'], exact: true });
    },
  });
  return (
    <Modal opened onClose={close} title="Room settings" size="lg">
      <div className="stack">
        <RoomForm
          r={form.fields}
          change={form.edit}
          save={() => (form.edited.length > 0 ? saving.save() : close())}
          busy={saving.busy}
          error={saving.error}
          verb="Save"
        />
        {saving.dialog}
        {room.remembered && room.remembered.length > 0 && (
          <Panel
            title="Always allowed"
            acts={
              <Button size="compact-sm" variant="default" loading={forget.isPending} onClick={() => forget.mutate()}>
                Ask again
              </Button>
            }
          >
            <div className="rows">
              {room.remembered.map((r) => (
                <div key={`${r.agent} ${r.server} ${r.tool}`}>
                  <b>{r.agent}</b>
                  <code className="cut grow">
                    {r.server}/{r.tool}
                  </code>
                </div>
              ))}
            </div>
          </Panel>
        )}
        {(forget.error ?? remove.error) && <ErrorCard error={forget.error ?? remove.error} />}
        <div className="acts">
          <HistoryButton object="room" id={room.id} name={room.name} size="sm" />
          <Button
            color="red"
            variant={sure ? 'filled' : 'light'}
            loading={remove.isPending}
            onClick={() => (sure ? remove.mutate() : setSure(true))}
          >
            {sure ? 'Yes, delete the room and its messages' : 'Delete the room'}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
