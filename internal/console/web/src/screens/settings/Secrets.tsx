import { Button, Modal, PasswordInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { getAll, type Schemas, send } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/permissions';
import { Confirm } from '../../parts/Confirm';
import { Ago, Panel } from '../../parts/elements';
import { HistoryButton } from '../../parts/History';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';

export function Secrets() {
  const me = useMe().data;
  const secrets = useQuery({
    queryKey: ['secrets'],
    queryFn: ({ signal }) => getAll<Schemas['SecretInfo']>('/secrets', signal),
    select: (p) => p.items,
  });
  const cache = useQueryClient();
  const [edit, setEdit] = useState<{ owner: string; name: string } | null>(null);
  const [value, setValue] = useState('');
  const [asked, setAsked] = useState(false);
  const [rotating, setRotating] = useState(false);
  const rotate = useMutation({
    mutationFn: () => send<Schemas['RotationResult']>('POST', '/secrets/rotate'),
    onSuccess: () => setRotating(false),
  });
  const done = {
    onSuccess: () => {
      setEdit(null);
      setAsked(false);
      setValue('');
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['secrets'] }),
  };
  const path = (s: { owner: string; name: string }) => `/secrets/${encodeURIComponent(s.owner)}/${encodeURIComponent(s.name)}`;
  const put = useMutation({ mutationFn: (s: { owner: string; name: string }) => send('PUT', path(s), { value }), ...done });
  const drop = useMutation({ mutationFn: (s: { owner: string; name: string }) => send('DELETE', path(s)), ...done });
  return (
    <Panel
      title="Stored secrets"
      acts={
        can(me, 'admin') &&
        me?.tenant === 'default' && (
          <Button size="compact-sm" variant="default" loading={rotate.isPending} onClick={() => setRotating(true)}>
            Rotate encryption key
          </Button>
        )
      }
    >
      {rotating && (
        <Confirm
          title="Rotate the encryption key?"
          act="Rotate"
          harmless
          of={rotate}
          run={() => rotate.mutate()}
          close={() => setRotating(false)}
        >
          <p>
            All stored secrets are encrypted again with the newest key. Back up the key file first: without it, nobody can decrypt them.
          </p>
        </Confirm>
      )}
      {rotate.data && (
        <div className="pad stack tight small" role="status">
          <p>
            {rotate.data.rewrapped} secrets now use the new encryption key <code>{rotate.data.key_id}</code>. Keep a copy of the key file
            apart from your backups.
          </p>
          {(rotate.data.broken ?? 0) > 0 && (
            <p>{rotate.data.broken} secrets cannot be decrypted with any encryption key. Enter them again.</p>
          )}
          {rotate.data.unused && rotate.data.unused.length > 0 && (
            <p>Remove {rotate.data.unused.join(', ')} from JUNCTOR_SEAL_KEY: no longer used.</p>
          )}
        </div>
      )}
      <QueryContent query={secrets}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={<KeyRound size={28} strokeWidth={1.5} aria-hidden />} title="No secrets">
              Enter the credentials of a server on its page. They are never shown again.
            </Empty>
          ) : (
            <div className="rows">
              {all.map((s) => (
                <div key={`${s.owner}/${s.name}`}>
                  <span className="grow mono cut">
                    {s.owner}/{s.name}
                  </span>
                  <span className="small soft">
                    set <Ago at={s.updated_at} />
                  </span>
                  <HistoryButton object="secret" id={`${s.owner}/${s.name}`} name={`${s.owner}/${s.name}`} />
                  <Button size="compact-xs" variant="subtle" onClick={() => setEdit({ owner: s.owner, name: s.name })}>
                    Replace
                  </Button>
                </div>
              ))}
            </div>
          )
        }
      </QueryContent>
      <Modal opened={edit !== null} onClose={() => setEdit(null)} title={edit ? `${edit.owner}/${edit.name}` : ''}>
        {edit && (
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              if (value) put.mutate(edit);
            }}
          >
            <PasswordInput
              label="New value"
              description="Stored encrypted and never shown again."
              autoComplete="off"
              data-autofocus
              value={value}
              onChange={(e) => setValue(e.currentTarget.value)}
            />
            {put.error && <ErrorCard error={put.error} />}
            <div className="acts">
              <Button type="submit" disabled={!value} loading={put.isPending}>
                Replace
              </Button>
              <Button variant="light" color="red" onClick={() => setAsked(true)}>
                Delete
              </Button>
            </div>
          </form>
        )}
      </Modal>
      {asked && edit && (
        <Confirm
          title={`Delete ${edit.owner}/${edit.name}?`}
          act="Delete"
          of={drop}
          run={() => drop.mutate(edit)}
          close={() => {
            drop.reset();
            setAsked(false);
          }}
        >
          <p>What uses this secret stops working until somebody enters it again. This cannot be undone.</p>
        </Confirm>
      )}
    </Panel>
  );
}
