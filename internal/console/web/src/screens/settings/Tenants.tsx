import { Button, Modal, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { type CreatedKey, useAction } from '../../api/admin';
import { type Schemas, send } from '../../api/client';
import { useListPages } from '../../api/lists';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel, Scroll, Tag } from '../../parts/elements';
import { faultsOf, unplaced } from '../../parts/faults';
import { HistoryDialog } from '../../parts/History';
import { NextPage } from '../../parts/NextPage';
import { SortedHeading } from '../../parts/SortedHeading';
import { ErrorCard, QueryContent } from '../../parts/states';
import { TokenDialog } from '../../parts/TokenDialog';
import { useParam } from '../../parts/url';

type Tenant = Schemas['Tenant'];

// Tenants lists the tenants of the instance. There is no way to delete one.
export function Tenants() {
  const [sort, setSort] = useParam('sort');
  const tenants = useListPages<Tenant>('/tenants', { sort });
  const [adding, { open, close }] = useDisclosure();
  const [dialog, setDialog] = useState<{ act: 'key' | 'history'; t: Tenant } | null>(null);
  const done = () => setDialog(null);
  return (
    <>
      <Panel
        title="Tenants of this instance"
        acts={
          <Button size="compact-sm" variant="default" leftSection={<Plus size={13} />} onClick={open}>
            Add a tenant
          </Button>
        }
      >
        <QueryContent query={{ ...tenants, data: tenants.all }}>
          {(all) => (
            <Scroll label="Tenants">
              <table className="list">
                <thead>
                  <tr>
                    <SortedHeading name="Tenant" by="id" first sort={sort} setSort={setSort} />
                    <SortedHeading name="Name" by="name" sort={sort} setSort={setSort} />
                    <SortedHeading name="Added" by="created_at" className="wide" sort={sort} setSort={setSort} />
                    <th aria-label="Actions" />
                  </tr>
                </thead>
                <tbody>
                  {all.map((t) => (
                    <tr key={t.id}>
                      <td className="mono">{t.id}</td>
                      <td>{t.name}</td>
                      <td className="wide soft">
                        <Ago at={t.created_at} />
                      </td>
                      <td className="right">
                        {t.id === 'default' ? (
                          <Tag>operators</Tag>
                        ) : (
                          <>
                            <Button size="compact-xs" variant="subtle" onClick={() => setDialog({ act: 'history', t })}>
                              History
                            </Button>
                            <Button size="compact-xs" variant="subtle" onClick={() => setDialog({ act: 'key', t })}>
                              Replace admin key
                            </Button>
                          </>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )}
        </QueryContent>
        {tenants.hasNextPage && (
          <div className="pad">
            <NextPage pages={tenants} />
          </div>
        )}
        <p className="pad small soft">
          A tenant has its own users, keys, agents, servers, secrets and records. Its admins manage it with its admin key. A tenant cannot
          be deleted, because records refer to it.
        </p>
      </Panel>
      {adding && <NewTenant close={close} />}
      {dialog?.act === 'key' && <ReplaceKey t={dialog.t} close={done} />}
      {dialog?.act === 'history' && <HistoryDialog object="tenant" id={dialog.t.id} name={dialog.t.name} close={done} />}
    </>
  );
}

const pattern = /^[a-z][a-z0-9-]{0,31}$/;

function NewTenant({ close }: { close: () => void }) {
  const [f, setFields] = useState({ id: '', name: '' });
  const add = useAction(() => send<Schemas['CreatedTenant']>('POST', '/tenants', { id: f.id, ...(f.name ? { name: f.name } : {}) }), {
    lists: ['tenants'],
  });
  const faults = faultsOf(add.error, ['id', 'name'], 'id');
  if (add.data)
    return (
      <TokenDialog token={add.data.admin_key.key} close={close}>
        <p>
          <b>{add.data.name}</b> was added. This is its admin key: give it to the person who manages the tenant.
        </p>
      </TokenDialog>
    );
  return (
    <Modal opened onClose={close} title="Add a tenant">
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (pattern.test(f.id)) add.mutate();
        }}
      >
        <TextInput
          label="ID"
          description="It cannot be changed. Users of the tenant sign in as ID/name."
          placeholder="acme"
          autoComplete="off"
          data-autofocus
          value={f.id}
          onChange={(e) => {
            add.reset();
            setFields({ ...f, id: e.currentTarget.value });
          }}
          error={
            f.id && !pattern.test(f.id) ? 'Start with a lowercase letter, then up to 31 lowercase letters, digits or hyphens.' : faults.id
          }
        />
        <TextInput
          label="Name"
          placeholder="Acme Inc."
          maxLength={100}
          autoComplete="off"
          value={f.name}
          onChange={(e) => setFields({ ...f, name: e.currentTarget.value })}
        />
        {unplaced(add.error, faults) ? <ErrorCard error={add.error} /> : null}
        <div className="acts">
          <Button type="submit" disabled={!pattern.test(f.id)} loading={add.isPending}>
            Add tenant
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function ReplaceKey({ t, close }: { t: Tenant; close: () => void }) {
  const replace = useAction(() => send<CreatedKey>('POST', `/tenants/${t.id}/key`), { lists: ['tenants'] });
  if (replace.data)
    return (
      <TokenDialog token={replace.data.key} close={close}>
        <p>This is the new admin key of {t.name}.</p>
      </TokenDialog>
    );
  return (
    <Confirm
      title={`Replace the admin key of ${t.name}?`}
      act="Replace key"
      typed={t.id}
      of={replace}
      run={() => replace.mutate()}
      close={close}
    >
      <p>The former key stops working at once. Do this if it was lost or stolen.</p>
    </Confirm>
  );
}
