import { Button, TextInput } from '@mantine/core';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useAction } from '../../api/admin';
import { type Schemas, send } from '../../api/client';
import { useListPages } from '../../api/lists';
import { Confirm } from '../../parts/Confirm';
import { Panel, Scroll, Tag } from '../../parts/elements';
import { HistoryButton } from '../../parts/History';
import { NextPage } from '../../parts/NextPage';
import { roleMeanings, roleScopes, roles } from '../../parts/roles';
import { ErrorCard, QueryContent } from '../../parts/states';

export function Roles() {
  return (
    <>
      <Panel title="Roles of users">
        <Scroll label="Roles of users">
          <table className="list">
            <thead>
              <tr>
                <th>Role</th>
                <th>Permissions</th>
                <th className="wide">Scopes</th>
              </tr>
            </thead>
            <tbody>
              {[...roles].reverse().map((r) => (
                <tr key={r}>
                  <td>
                    <Link className="link" href={`/settings?tab=users&role=${r}`}>
                      {r}
                    </Link>
                  </td>
                  <td>{roleMeanings[r]}</td>
                  <td className="wide tiny soft">{roleScopes[r].join(' ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        <p className="pad small soft">These roles are fixed. Set the role of a user on the user’s page.</p>
      </Panel>
      <WorkRoles />
    </>
  );
}

type Role = Schemas['RoleInfo'];

const rolePath = (name: string) => `/roles/${encodeURIComponent(name)}`;

// WorkRoles are the roles of agents and tools. An agent is offered the tools of its role.
function WorkRoles() {
  const [name, setName] = useState('');
  const list = useListPages<Role>('/roles', {});
  const [asked, setAsked] = useState<string | null>(null);
  const add = useAction(() => send('PUT', rolePath(name.trim())), { lists: ['roles'], done: () => setName('') });
  const remove = useAction((role: string) => send('DELETE', rolePath(role)), { lists: ['roles'], done: () => setAsked(null) });
  return (
    <>
      <Panel title="Roles of agents and tools">
        <form
          className="pad row"
          style={{ borderBottom: '1px solid var(--line-soft)' }}
          onSubmit={(e) => {
            e.preventDefault();
            if (name.trim()) add.mutate();
          }}
        >
          <TextInput
            className="grow"
            placeholder="Name of the role"
            aria-label="Name of the role"
            autoComplete="off"
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          <Button type="submit" disabled={!name.trim()} loading={add.isPending} leftSection={<Plus size={15} />}>
            Add a role
          </Button>
        </form>
        {add.error && (
          <div className="pad">
            <ErrorCard error={add.error} />
          </div>
        )}
        <QueryContent query={{ ...list, data: list.all }}>
          {(all) => (
            <div className="rows">
              {all.map((r) => (
                <div key={r.name}>
                  <span className="grow cut">{r.name}</span>
                  {r.own && <HistoryButton object="role" id={r.name} name={r.name} />}
                  {r.own ? (
                    <Button
                      size="compact-xs"
                      variant="subtle"
                      color="red"
                      aria-label={`Delete the role ${r.name}`}
                      onClick={() => setAsked(r.name)}
                    >
                      Delete
                    </Button>
                  ) : (
                    <Tag>Built-in</Tag>
                  )}
                </div>
              ))}
            </div>
          )}
        </QueryContent>
        {list.hasNextPage && (
          <div className="pad">
            <NextPage pages={list} />
          </div>
        )}
      </Panel>
      {asked !== null && (
        <Confirm
          title={`Delete the role ${asked}?`}
          act="Delete role"
          of={remove}
          run={() => remove.mutate(asked)}
          close={() => {
            remove.reset();
            setAsked(null);
          }}
        >
          <p>A role that an agent or tool has cannot be deleted.</p>
        </Confirm>
      )}
    </>
  );
}
