import { Button, Drawer, Modal, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Search as SearchIcon, Wrench } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { forgetAllowed, type RoomFields, removeRoom, roomPath, searchMessages, useInPlay, type Workspace } from '../../api/rooms';
import { Ago, Panel, Tag } from '../../parts/bits';
import { useEdits, useSave } from '../../parts/Conflict';
import { editedFields } from '../../parts/edits';
import { count } from '../../parts/format';
import { Empty, ErrorCard, Shown } from '../../parts/states';
import { RoomForm, roomBody } from './RoomForm';

// What a room has beside its conversation.

const many = 40; // tools, above which models choose badly

// InPlay shows which tools each agent of a room may use now.
export function InPlay({ room, close }: { room: Workspace; close: () => void }) {
  const tools = useInPlay(room.id);
  return (
    <Drawer opened onClose={close} position="right" title="Who is here, and with what">
      <div className="stack">
        {room.members
          .filter((m) => m.user)
          .map((m) => (
            <span key={m.user} className="row">
              <Tag>person</Tag> {m.name || m.user}
            </span>
          ))}
        <Shown query={tools}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No agent is here">Add some in the room's settings.</Empty>
            ) : (
              <div className="stack">
                {all.map((a) => (
                  <Panel
                    key={a.agent}
                    title={
                      <Link className="link" href={`/agents/${a.agent}`}>
                        {a.agent}
                      </Link>
                    }
                    acts={
                      <Tag
                        tone={a.tools.length > many ? 'warn' : ''}
                        title={a.tools.length > many ? 'Models choose badly among so many.' : ''}
                      >
                        {count(a.tools.length)} {a.tools.length === 1 ? 'tool' : 'tools'}
                      </Tag>
                    }
                  >
                    {a.fault && <p className="pad small called-fault">{a.fault}</p>}
                    {a.tools.length === 0 ? (
                      <p className="pad small soft">It only talks.</p>
                    ) : (
                      <div className="rows">
                        {a.tools.map((t) => (
                          <Link key={t.name} href={`/tools/${encodeURIComponent(t.name)}`}>
                            <Wrench size={13} aria-hidden />
                            <code className="cut grow">{t.name}</code>
                            {t.has_view && <Tag tone="act">App</Tag>}
                            {!t.read_only && <Tag tone="warn">changes things</Tag>}
                          </Link>
                        ))}
                      </div>
                    )}
                  </Panel>
                ))}
              </div>
            )
          }
        </Shown>
      </div>
    </Drawer>
  );
}

// Search finds what was said in a room.
export function Search({ id, close, go }: { id: string; close: () => void; go: (message: string) => void }) {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  const found = useQuery({
    queryKey: ['rooms', id, 'search', asked],
    queryFn: ({ signal }) => searchMessages(id, asked, signal),
    enabled: asked !== '',
  });
  return (
    <Drawer opened onClose={close} position="right" title="Search this room">
      <div className="stack">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            setAsked(text.trim());
          }}
        >
          <TextInput
            data-autofocus
            aria-label="Words to search for"
            placeholder="Words, then Enter"
            leftSection={<SearchIcon size={14} />}
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
          />
        </form>
        {asked !== '' && (
          <Shown query={found}>
            {(all) =>
              all.length === 0 ? (
                <Empty title="Nobody said that here" />
              ) : (
                <div className="rows found-rows">
                  {all.map((m) => (
                    <button key={m.id} type="button" onClick={() => go(m.id)}>
                      <span className="grow">
                        <span className="row small">
                          <b>{m.author.name}</b>
                          <span className="soft tiny">
                            <Ago at={m.at} />
                          </span>
                        </span>
                        <span className="small soft found-text">{m.text}</span>
                      </span>
                    </button>
                  ))}
                </div>
              )
            }
          </Shown>
        )}
      </div>
    </Drawer>
  );
}

const fieldsOf = ({ name, members, policy, max_rounds, approvals }: Workspace): RoomFields => ({
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
  max_rounds: 'Rounds among agents',
  approvals: 'Before an agent changes something',
};

// RoomSettings changes a room, or ends it.
export function RoomSettings({ room, close }: { room: Workspace; close: () => void }) {
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
    <Modal opened onClose={close} title="The room" size="lg">
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
            title="Allowed without asking"
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
          <Button
            color="red"
            variant={sure ? 'filled' : 'light'}
            loading={remove.isPending}
            onClick={() => (sure ? remove.mutate() : setSure(true))}
          >
            {sure ? 'Yes, with all that was said in it' : 'Delete the room'}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
