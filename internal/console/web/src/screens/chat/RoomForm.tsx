import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getAll, type Schemas } from '../../api/client';
import { useAgents, useMe } from '../../api/data';
import type { Member, Policy, RoomFields } from '../../api/rooms';
import { can } from '../../app/permissions';
import { Scroll, Tag } from '../../parts/elements';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';

const policies: { value: Policy; label: string; about: string }[] = [
  {
    value: 'addressed',
    label: 'Mentioned agents',
    about: 'Only agents that a message mentions with @ answer. A single agent always answers.',
  },
  { value: 'router', label: 'Auto', about: 'The room picks the best agent for each message without a mention.' },
  { value: 'round-robin', label: 'Round robin', about: 'Agents answer in turn, one message each.' },
  { value: 'all', label: 'All agents', about: 'All agents answer, in order.' },
];

export const usualRoom: RoomFields = { name: '', members: [], policy: 'router', max_rounds: 3, approvals: 'ask' };

// roomBody is what is sent of the fields of a room.
export const roomBody = (r: RoomFields): RoomFields => ({
  name: r.name.trim(),
  members: r.members.map(({ agent, user }) => (agent ? { agent } : { user })),
  policy: r.policy,
  max_rounds: r.max_rounds,
  approvals: r.approvals,
});

// RoomForm asks for what a room is: who is in it, who answers, what is asked.
export function RoomForm({
  r,
  change,
  save,
  busy,
  error,
  verb,
}: {
  r: RoomFields;
  change: (part: Partial<RoomFields>) => void;
  save: () => void;
  busy: boolean;
  error: unknown;
  verb: string;
}) {
  const me = useMe().data;
  const agents = useAgents();
  const users = useQuery({
    queryKey: ['users'],
    queryFn: ({ signal }) => getAll<Schemas['User']>('/users', signal),
    select: (p) => p.items,
    enabled: can(me, 'admin'),
  });
  const has = (m: Member) => r.members.some((x) => (m.agent ? x.agent === m.agent : x.user === m.user));
  const toggle = (m: Member, on: boolean) =>
    change({ members: on ? [...r.members, m] : r.members.filter((x) => (m.agent ? x.agent !== m.agent : x.user !== m.user)) });
  const others = (users.data ?? []).filter((u) => u.id !== me?.subject);
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        save();
      }}
    >
      <TextInput
        label="Name"
        placeholder="Planning"
        data-autofocus
        value={r.name}
        onChange={(e) => change({ name: e.currentTarget.value })}
      />
      <fieldset className="plain stack tight">
        <legend className="label">Agents</legend>
        <QueryContent query={agents} rows={2}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No agents yet">Create an agent first, and give it a brain: a model or rules.</Empty>
            ) : (
              <Scroll label="Agents to choose from" height="14rem">
                <div className="stack tight">
                  {all.map((a) => (
                    <div className="row" key={a.name}>
                      <Checkbox
                        label={a.name}
                        checked={has({ agent: a.name })}
                        onChange={(e) => toggle({ agent: a.name }, e.currentTarget.checked)}
                      />
                      <span className="tiny soft cut grow">{a.title || a.role}</span>
                      {!a.brain && <Tag tone="warn">no brain</Tag>}
                      {a.disabled && <Tag tone="warn">off</Tag>}
                    </div>
                  ))}
                </div>
              </Scroll>
            )
          }
        </QueryContent>
      </fieldset>
      {others.length > 0 && (
        <fieldset className="plain stack tight">
          <legend className="label">Other people</legend>
          <Scroll label="People to choose from" height="9rem">
            <div className="stack tight">
              {others.map((u) => (
                <Checkbox
                  key={u.id}
                  label={u.name}
                  checked={has({ user: u.id })}
                  onChange={(e) => toggle({ user: u.id }, e.currentTarget.checked)}
                />
              ))}
            </div>
          </Scroll>
        </fieldset>
      )}
      <NativeSelect
        label="Who answers"
        description={policies.find((p) => p.value === r.policy)?.about}
        value={r.policy}
        data={policies.map(({ value, label }) => ({ value, label }))}
        onChange={(e) => change({ policy: e.currentTarget.value as Policy })}
      />
      <div className="columns">
        <NativeSelect
          label="Calls that change something"
          description="Read-only tools never need approval."
          value={r.approvals}
          data={[
            { value: 'ask', label: 'Ask for approval' },
            { value: 'never', label: 'Allow without approval' },
          ]}
          onChange={(e) => change({ approvals: e.currentTarget.value as RoomFields['approvals'] })}
        />
        <NumberInput
          label="Rounds between agents"
          description="How often agents may hand over to each other."
          min={1}
          max={10}
          hideControls
          value={r.max_rounds}
          onChange={(v) => change({ max_rounds: Number(v) || 1 })}
        />
      </div>
      {error ? <ErrorCard error={error} /> : null}
      <div className="acts">
        <Button type="submit" disabled={!r.name.trim()} loading={busy}>
          {verb}
        </Button>
      </div>
    </form>
  );
}
