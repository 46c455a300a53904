import { Button, Menu } from '@mantine/core';
import { Link2 } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type User, useAction, userPath, useUser } from '../api/admin';
import { Failure, send } from '../api/client';
import { useMe } from '../api/data';
import { ActionMenu } from '../parts/ActionMenu';
import { Activity } from '../parts/Activity';
import { Copy, Head, Panel, Tabs, Tag } from '../parts/elements';
import { History } from '../parts/History';
import { Empty, ErrorCard, QueryContent } from '../parts/states';
import { TopTools } from '../parts/TopList';
import { useParam } from '../parts/url';
import { KeyList } from './KeyList';
import { DeleteDialog, DisableDialog, LinkDialog, PasswordDialog } from './user/dialogs';
import { Sessions } from './user/Sessions';
import { UserDetails } from './user/UserDetails';

const crumbs: [string, string][] = [['Users', '/settings?tab=users']];

export default function UserPage({ id }: { id: string }) {
  const user = useUser(id);
  if (user.error instanceof Failure && user.error.problem.code === 'not_found') return <Missing id={id} />;
  return <QueryContent query={user}>{(u) => <Page key={u.id} u={u} />}</QueryContent>;
}

// Missing is shown for a user who was deleted, and whom records still name.
const Missing = ({ id }: { id: string }) => (
  <>
    <Head title="User not found" crumbs={crumbs} sub={<code>{id}</code>} />
    <Panel>
      <Empty title="This user does not exist">If the user was deleted, the history below has the account as it was.</Empty>
    </Panel>
    <History object="user" id={id} />
  </>
);

type Dialog = 'link' | 'password' | 'disable' | 'delete';

function Page({ u }: { u: User }) {
  const me = useMe().data;
  const [tab, setTab] = useParam('tab', 'details');
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [, navigate] = useLocation();
  const enable = useAction(() => send('PATCH', userPath(u.id), { disabled: false }), { lists: ['users'] });
  const close = () => setDialog(null);
  // Admins who shut themselves out need somebody else to come back.
  const own = u.id === me?.user;
  return (
    <>
      <Head
        title={u.name}
        crumbs={crumbs}
        sub={
          <span className="row small">
            <Tag>{u.role}</Tag> {u.disabled && <Tag tone="warn">disabled</Tag>} {own && <Tag tone="act">you</Tag>} <code>{u.id}</code>{' '}
            <Copy value={u.id} label="Copy the ID" />
          </span>
        }
      >
        {u.disabled ? (
          <Button loading={enable.isPending} onClick={() => enable.mutate()}>
            Enable user
          </Button>
        ) : (
          <Button variant="default" leftSection={<Link2 size={15} />} onClick={() => setDialog('link')}>
            Create sign-in link
          </Button>
        )}
        <ActionMenu label={`Actions for ${u.name}`}>
          <Menu.Item onClick={() => setDialog('password')}>Set a password</Menu.Item>
          {!own && !u.disabled && <Menu.Item onClick={() => setDialog('disable')}>Disable user</Menu.Item>}
          {!own && (
            <Menu.Item color="red" onClick={() => setDialog('delete')}>
              Delete user
            </Menu.Item>
          )}
        </ActionMenu>
      </Head>
      {enable.error && <ErrorCard error={enable.error} />}
      <Tabs
        label="Sections of the user"
        now={tab}
        choose={setTab}
        tabs={[
          ['details', 'Details'],
          ['sessions', 'Sessions'],
          ['keys', 'Keys'],
          ['activity', 'Activity'],
          ['history', 'History'],
        ]}
      />
      {tab === 'details' && <UserDetails u={u} />}
      {tab === 'sessions' && <Sessions user={u} />}
      {tab === 'keys' && <KeyList user={u} />}
      {tab === 'activity' && (
        <Activity of={{ by: 'user', first: u.id }} filter={{ user: u.id }}>
          {(choice) => <TopTools choice={choice} user={u.id} />}
        </Activity>
      )}
      {tab === 'history' && (
        <>
          <History object="user" id={u.id} />
          <p className="small">
            <Link className="link" href={`/audit?tab=changes&actor=${encodeURIComponent(u.id)}`}>
              View changes that this user made
            </Link>
          </p>
        </>
      )}
      {dialog === 'link' && <LinkDialog u={u} close={close} />}
      {dialog === 'password' && <PasswordDialog u={u} close={close} />}
      {dialog === 'disable' && <DisableDialog u={u} close={close} />}
      {dialog === 'delete' && <DeleteDialog u={u} close={close} deleted={() => navigate('/settings?tab=users')} />}
    </>
  );
}
