import { Button, Modal, PasswordInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { get, type Page, type Schemas, send } from '../../api/client';
import { useMe } from '../../api/data';
import { can } from '../../app/may';
import { Ago, Panel } from '../../parts/bits';
import { Empty, ErrorCard, Shown } from '../../parts/states';

export function Secrets() {
  const me = useMe().data;
  const secrets = useQuery({
    queryKey: ['secrets'],
    queryFn: ({ signal }) => get<Page<Schemas['SecretInfo']>>('/secrets', signal),
    select: (p) => p.items,
  });
  const cache = useQueryClient();
  const [edit, setEdit] = useState<{ owner: string; name: string } | null>(null);
  const [value, setValue] = useState('');
  const rotate = useMutation({ mutationFn: () => send<Schemas['Rotation']>('POST', '/secrets/rotate') });
  const done = {
    onSuccess: () => {
      setEdit(null);
      setValue('');
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['secrets'] }),
  };
  const path = (s: { owner: string; name: string }) => `/secrets/${encodeURIComponent(s.owner)}/${encodeURIComponent(s.name)}`;
  const put = useMutation({ mutationFn: (s: { owner: string; name: string }) => send('PUT', path(s), { value }), ...done });
  const drop = useMutation({ mutationFn: (s: { owner: string; name: string }) => send('DELETE', path(s)), ...done });
  return (
    <Panel
      title="Entrusted secrets"
      acts={
        can(me, 'admin') &&
        me?.tenant === 'default' && (
          <Button size="compact-sm" variant="default" loading={rotate.isPending} onClick={() => rotate.mutate()}>
            Replace the sealing key
          </Button>
        )
      }
    >
      {rotate.error && (
        <div className="pad">
          <ErrorCard error={rotate.error} />
        </div>
      )}
      {rotate.data && (
        <div className="pad stack tight small" role="status">
          <p>
            {rotate.data.rewrapped} keys of secrets are wrapped by the new sealing key <code>{rotate.data.key_id}</code>. Keep a copy of the
            key file elsewhere, apart from backups.
          </p>
          {(rotate.data.broken ?? 0) > 0 && <p>{rotate.data.broken} open with no sealing key: enter those secrets again.</p>}
          {rotate.data.unused && rotate.data.unused.length > 0 && (
            <p>JUNCTOR_SEAL_KEY can do without {rotate.data.unused.join(', ')} now.</p>
          )}
        </div>
      )}
      <Shown query={secrets}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={<KeyRound size={28} strokeWidth={1.5} aria-hidden />} title="No secrets">
              Credentials of servers are entered with the server. Nothing shows one again.
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
                  <Button size="compact-xs" variant="subtle" onClick={() => setEdit({ owner: s.owner, name: s.name })}>
                    Replace
                  </Button>
                </div>
              ))}
            </div>
          )
        }
      </Shown>
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
              label="From now on"
              description="Sealed at once, and never shown again."
              autoComplete="off"
              data-autofocus
              value={value}
              onChange={(e) => setValue(e.currentTarget.value)}
            />
            {(put.error ?? drop.error) && <ErrorCard error={put.error ?? drop.error} />}
            <div className="acts">
              <Button type="submit" disabled={!value} loading={put.isPending}>
                Replace it
              </Button>
              <Button variant="light" color="red" loading={drop.isPending} onClick={() => drop.mutate(edit)}>
                Forget it
              </Button>
            </div>
          </form>
        )}
      </Modal>
    </Panel>
  );
}
