import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
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
  const rotate = useMutation({ mutationFn: () => send('POST', '/secrets/rotate') });
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
      {rotate.isSuccess && <p className="pad small">All secrets are sealed under a new key. Keep a copy of the key file elsewhere.</p>}
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
                </div>
              ))}
            </div>
          )
        }
      </Shown>
    </Panel>
  );
}
