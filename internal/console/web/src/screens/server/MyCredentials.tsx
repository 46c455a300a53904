import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, type ServerDetail, send } from '../../api/client';
import { useMe, useMyCredentials } from '../../api/data';
import { Ago, Panel, Tag } from '../../parts/bits';
import { authNames, authOf, type Draft, lacks } from '../../parts/connection';
import { Empty, ErrorCard, Shown } from '../../parts/states';
import { AuthFields } from './AuthFields';

// MyCredentials is what a person enters for a server that is called with the
// credentials of each.
export function MyCredentials({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const mine = useMyCredentials(!!me?.person);
  if (!me?.person)
    return (
      <Panel title="Your credentials">
        <Empty title="Only people have credentials of their own" />
      </Panel>
    );
  return (
    <Panel title="Your credentials" pad>
      <Shown query={mine}>{(all) => <Form s={s} now={all.find((c) => c.server === s.id)} />}</Shown>
    </Panel>
  );
}

function Form({ s, now }: { s: ServerDetail; now: Schemas['MyCredential'] | undefined }) {
  const cache = useQueryClient();
  const wanted = s.auth?.type && !['none', 'oauth', 'oauth-client'].includes(s.auth.type) ? s.auth.type : 'bearer';
  const [draft, setDraft] = useState<Draft>({ type: wanted, header: s.auth?.header, secret: '' });
  const path = `/servers/${s.id}/credentials/me`;
  const settled = { onSettled: () => cache.invalidateQueries({ queryKey: ['credentials'] }) };
  const enter = useMutation({
    mutationFn: () => send('PUT', path, { auth: authOf(draft) }),
    onSuccess: () => setDraft({ ...draft, secret: '' }),
    ...settled,
  });
  const erase = useMutation({ mutationFn: () => send('DELETE', path), ...settled });
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (!lacks(draft)) enter.mutate();
      }}
    >
      <div className="row">
        {now?.entered ? (
          <>
            <Tag tone={now.problem ? 'bad' : 'good'}>{now.problem ? 'of no use' : 'entered'}</Tag>
            <span className="small soft">
              {now.auth && authNames[now.auth.type]} <Ago at={now.updated_at} />
            </span>
          </>
        ) : (
          <Tag tone="warn">not entered yet</Tag>
        )}
      </div>
      {now?.problem && <p className="small">{now.problem}</p>}
      <p className="soft small">
        This server is called with the credentials of each. Yours go with your calls, and with those of your agents; they are kept sealed
        and nobody is shown them.
      </p>
      <AuthFields draft={draft} change={setDraft} types={['bearer', 'api-key', 'basic']} label="What you have" />
      <div className="acts">
        <Button type="submit" disabled={!!lacks(draft)} loading={enter.isPending}>
          {now?.entered ? 'Replace them' : 'Enter them'}
        </Button>
        {now?.entered && (
          <Button variant="default" loading={erase.isPending} onClick={() => erase.mutate()}>
            Erase them
          </Button>
        )}
      </div>
      {(enter.error || erase.error) && <ErrorCard error={enter.error ?? erase.error} />}
    </form>
  );
}
