import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, type ServerDetail, send } from '../../api/client';
import { useMe, useMyCredentials } from '../../api/data';
import { Confirm } from '../../parts/Confirm';
import { authNames, authOf, type Draft, lacks } from '../../parts/connection';
import { Ago, Panel, Tag } from '../../parts/elements';
import { Empty, ErrorCard, QueryContent } from '../../parts/states';
import { AuthFields } from './AuthFields';

// MyCredentials is what a person enters for a server that is called with the
// credentials of each.
export function MyCredentials({ s }: { s: ServerDetail }) {
  const me = useMe().data;
  const mine = useMyCredentials(!!me?.person);
  if (!me?.person)
    return (
      <Panel title="Your credentials">
        <Empty title="Only users can enter their own credentials" />
      </Panel>
    );
  return (
    <Panel title="Your credentials" pad>
      <QueryContent query={mine}>{(all) => <Form s={s} now={all.find((c) => c.server === s.id)} />}</QueryContent>
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
  const [asked, setAsked] = useState(false);
  const erase = useMutation({ mutationFn: () => send('DELETE', path), onSuccess: () => setAsked(false), ...settled });
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
            <Tag tone={now.problem ? 'bad' : 'good'}>{now.problem ? 'rejected' : 'entered'}</Tag>
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
        This server requires the credentials of each user. Your calls and those of your agents use yours. They are stored encrypted and
        never shown.
      </p>
      <AuthFields draft={draft} change={setDraft} types={['bearer', 'api-key', 'basic']} label="Credential type" />
      <div className="acts">
        <Button type="submit" disabled={!!lacks(draft)} loading={enter.isPending}>
          {now?.entered ? 'Replace' : 'Save'}
        </Button>
        {now?.entered && (
          <Button variant="default" onClick={() => setAsked(true)}>
            Delete
          </Button>
        )}
      </div>
      {enter.error && <ErrorCard error={enter.error} />}
      {asked && (
        <Confirm
          title={`Delete your credentials for ${s.id}?`}
          act="Delete"
          of={erase}
          run={() => erase.mutate()}
          close={() => {
            erase.reset();
            setAsked(false);
          }}
        >
          <p>Your calls to this server, and those of your agents, fail until you enter credentials again.</p>
        </Confirm>
      )}
    </form>
  );
}
