import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { type CreatedKey, useAction } from '../../api/admin';
import { type Key, send } from '../../api/client';
import { Confirm } from '../../parts/Confirm';
import { TokenDialog } from '../../parts/TokenDialog';

const keyPath = (id: string) => `/keys/${encodeURIComponent(id)}`;

const graces: [seconds: string, label: string][] = [
  ['0', 'It stops working at once'],
  ['600', '10 minutes'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
];

export function RotateKey({ k, close }: { k: Key; close: () => void }) {
  const [grace, setGrace] = useState('600');
  const rotate = useAction(() => send<CreatedKey>('POST', `${keyPath(k.id)}/rotate`, { grace_seconds: Number(grace) }), {
    lists: ['keys'],
  });
  if (rotate.data) return <TokenDialog token={rotate.data.key} close={close} />;
  return (
    <Confirm title={`Rotate the key ${k.name}?`} act="Rotate key" harmless of={rotate} run={() => rotate.mutate()} close={close}>
      <p>The key gets a new token. Its ID, owner, scopes and expiry stay.</p>
      <NativeSelect
        label="The former token works for"
        value={grace}
        data={graces.map(([value, label]) => ({ value, label }))}
        onChange={(e) => setGrace(e.currentTarget.value)}
      />
    </Confirm>
  );
}

export function RevokeKey({ k, close }: { k: Key; close: () => void }) {
  const revoke = useAction(() => send('DELETE', keyPath(k.id)), { lists: ['keys'], done: close });
  return (
    <Confirm title={`Revoke the key ${k.name}?`} act="Revoke key" of={revoke} run={() => revoke.mutate()} close={close}>
      <p>The key stops working at once, and its open streams end. This cannot be undone.</p>
      <p>Keys that were created with it stay valid.</p>
    </Confirm>
  );
}
