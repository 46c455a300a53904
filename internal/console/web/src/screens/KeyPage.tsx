import { Button } from '@mantine/core';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import { useKey } from '../api/admin';
import type { Key } from '../api/client';
import { useMe } from '../api/data';
import { can } from '../app/permissions';
import { Activity } from '../parts/Activity';
import { Ago, Copy, Head, Panel, Tabs, Tag } from '../parts/elements';
import { absolute } from '../parts/format';
import { History } from '../parts/History';
import { scopeMeanings } from '../parts/roles';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { KeyOwner } from './KeyList';
import { RevokeKey, RotateKey } from './key/dialogs';
import { KeyState, keyIsLive } from './key/state';

const crumbs: [string, string][] = [['Keys', '/settings?tab=keys']];

export default function KeyPage({ id }: { id: string }) {
  const key = useKey(id);
  return (
    <QueryContent query={key}>
      {(k) =>
        k ? (
          <Page k={k} />
        ) : (
          <>
            <Head title="Key not found" crumbs={crumbs} sub={<code>{id}</code>} />
            <Panel>
              <Empty title="This key does not exist">Or it belongs to somebody else.</Empty>
            </Panel>
          </>
        )
      }
    </QueryContent>
  );
}

function Page({ k }: { k: Key }) {
  const me = useMe().data;
  const admin = can(me, 'admin');
  const [tab, setTab] = useParam('tab', 'details');
  const [dialog, setDialog] = useState<'rotate' | 'revoke' | null>(null);
  const close = () => setDialog(null);
  return (
    <>
      <Head
        title={k.name}
        crumbs={crumbs}
        sub={
          <span className="row small">
            <KeyState k={k} /> <code>{k.id}</code> <Copy value={k.id} label="Copy the ID" />
          </span>
        }
      >
        {keyIsLive(k) && (
          <>
            <Button variant="default" leftSection={<RotateCw size={14} />} onClick={() => setDialog('rotate')}>
              Rotate key
            </Button>
            <Button variant="light" color="red" onClick={() => setDialog('revoke')}>
              Revoke key
            </Button>
          </>
        )}
      </Head>
      {admin && (
        <Tabs
          label="Sections of the key"
          now={tab}
          choose={setTab}
          tabs={[
            ['details', 'Details'],
            ['activity', 'Activity'],
            ['history', 'History'],
          ]}
        />
      )}
      {(tab === 'details' || !admin) && <Details k={k} />}
      {tab === 'activity' && admin && <Activity of={{ by: 'key', first: k.id }} filter={callsOf(k)} />}
      {tab === 'history' && admin && <History object="key" id={k.id} />}
      {dialog === 'rotate' && <RotateKey k={k} close={close} />}
      {dialog === 'revoke' && <RevokeKey k={k} close={close} />}
    </>
  );
}

// callsOf selects the calls with a key in the list of calls. The owner makes the search shorter.
const callsOf = (k: Key) => ({ key: k.id, ...(k.agent ? { agent: k.agent } : k.user ? { user: k.user } : { caller: k.id }) });

// Time is a moment in full, with how far away it is.
function Time({ at, none }: { at: string | undefined; none: string }) {
  if (!at || at.startsWith('0001-')) return <span className="soft">{none}</span>;
  return (
    <>
      {absolute(new Date(at))}{' '}
      <span className="soft">
        (<Ago at={at} />)
      </span>
    </>
  );
}

const Details = ({ k }: { k: Key }) => (
  <div className="columns">
    <Panel title="Key" pad>
      <dl className="facts">
        <dt>Owner</dt>
        <dd>
          <KeyOwner k={k} />
        </dd>
        <dt>Begins with</dt>
        <dd>{k.prefix ? <code>{k.prefix}…</code> : '–'}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={k.created_at} none="–" />
        </dd>
        <dt>Last used</dt>
        <dd>
          <Time at={k.last_used_at} none="never" />
        </dd>
        <dt>Expires</dt>
        <dd>
          <Time at={k.expires_at} none="never" />
        </dd>
        {k.former_until && (
          <>
            <dt>Former token until</dt>
            <dd>
              <Time at={k.former_until} none="–" />
            </dd>
          </>
        )}
        {k.revoked_at && (
          <>
            <dt>Revoked</dt>
            <dd>
              <Time at={k.revoked_at} none="–" />
            </dd>
          </>
        )}
      </dl>
    </Panel>
    <Panel title="Scopes">
      <div className="rows">
        {k.scopes.map((s) => (
          <div key={s}>
            <span className="grow small">{scopeMeanings[s]}</span> <Tag>{s}</Tag>
          </div>
        ))}
      </div>
    </Panel>
  </div>
);
