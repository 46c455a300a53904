import { Button, NativeSelect } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { Plus, UsersRound } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { User } from '../../api/admin';
import { useMe } from '../../api/data';
import { useListPages } from '../../api/lists';
import { Ago, Panel, Scroll, Tag } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { NextPage } from '../../parts/NextPage';
import { roles } from '../../parts/roles';
import { SortedHeading } from '../../parts/SortedHeading';
import { Empty, QueryContent } from '../../parts/states';
import { useParam } from '../../parts/url';
import { NewUser } from '../user/NewUser';

export function Users() {
  const me = useMe().data;
  const [q, setQ] = useParam('q');
  const [sort, setSort] = useParam('sort');
  const [role, setRole] = useParam('role');
  const [text] = useDebouncedValue(q, 150);
  const users = useListPages<User>('/users', { q: text, sort, role });
  const [adding, { open, close }] = useDisclosure();
  const [, navigate] = useLocation();
  return (
    <>
      <div className="row filters">
        <FilterInput label="Filter users" minWidth="12rem" value={q} change={setQ} />
        <NativeSelect
          aria-label="Role"
          value={role}
          data={[{ value: '', label: 'Any role' }, ...roles]}
          onChange={(e) => setRole(e.currentTarget.value)}
        />
        <Button leftSection={<Plus size={15} />} onClick={open}>
          Add a user
        </Button>
      </div>
      <Panel>
        <QueryContent query={{ ...users, data: users.all }}>
          {(all) =>
            all.length === 0 ? (
              <Empty
                icon={<UsersRound size={28} strokeWidth={1.5} aria-hidden />}
                title={text || role ? 'No user matches' : 'No users yet'}
              />
            ) : (
              <Scroll label="Users">
                <table className="list">
                  <thead>
                    <tr>
                      <SortedHeading name="User" by="name" first sort={sort} setSort={setSort} />
                      <SortedHeading name="Role" by="role" sort={sort} setSort={setSort} />
                      <SortedHeading name="Tier" by="tier" className="wide" sort={sort} setSort={setSort} />
                      <SortedHeading name="Added" by="created_at" className="right wide" sort={sort} setSort={setSort} />
                      <SortedHeading name="Changed" by="updated_at" className="right wide" sort={sort} setSort={setSort} />
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((u) => (
                      <tr key={u.id} className="on" onClick={() => navigate(`/users/${u.id}`)}>
                        <td>
                          <Link href={`/users/${u.id}`} style={{ fontWeight: 550 }} onClick={(e) => e.stopPropagation()}>
                            {u.name}
                          </Link>{' '}
                          {u.disabled && <Tag tone="warn">disabled</Tag>} {u.id === me?.user && <Tag tone="act">you</Tag>}
                        </td>
                        <td>
                          <Tag>{u.role}</Tag>
                        </td>
                        <td className="wide soft">{u.tier}</td>
                        <td className="right wide soft">
                          <Ago at={u.created_at} />
                        </td>
                        <td className="right wide soft">
                          <Ago at={u.updated_at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )
          }
        </QueryContent>
      </Panel>
      <NextPage pages={users} near />
      {adding && <NewUser close={close} />}
    </>
  );
}
