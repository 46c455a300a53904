import { Button, NativeSelect, PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Me, send } from '../../api/client';
import { Panel, Tag } from '../../parts/elements';
import { ErrorCard } from '../../parts/states';

export function Account({ me }: { me: Me }) {
  const cache = useQueryClient();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const sources = useMutation({
    mutationFn: (s: string) => send('PUT', '/me/sources', { sources: s }),
    onSettled: () => cache.invalidateQueries(),
  });
  const set = useMutation({
    mutationFn: () => send('PUT', '/me/password', { password, ...(current ? { current } : {}) }),
    onSuccess: () => {
      setCurrent('');
      setPassword('');
    },
  });
  return (
    <div className="columns">
      <Panel title={me.name || me.subject} pad>
        <div className="stack">
          <dl className="facts">
            <dt>Role</dt>
            <dd>{me.person?.role ?? '–'}</dd>
            <dt>Tenant</dt>
            <dd>{me.tenant}</dd>
            <dt>Scopes</dt>
            <dd className="row">
              {me.scopes.map((s) => (
                <Tag key={s}>{s}</Tag>
              ))}
            </dd>
            <dt>Tier</dt>
            <dd>{me.person?.tier ?? '–'}</dd>
          </dl>
          {me.person && (
            <NativeSelect
              label="Tools at your default endpoint"
              description="In addition to built-in tools. Every server also has its own endpoint."
              value={me.person.sources}
              disabled={sources.isPending}
              data={[
                { value: 'both', label: 'All' },
                { value: 'bring-your-own', label: 'Upstream servers' },
                { value: 'auto-generated', label: 'Generated servers' },
              ]}
              onChange={(e) => sources.mutate(e.currentTarget.value)}
            />
          )}
          {sources.error && <ErrorCard error={sources.error} />}
        </div>
      </Panel>
      {me.person && (
        <Panel title="Password" pad>
          <form
            className="stack"
            onSubmit={(e) => {
              e.preventDefault();
              set.mutate();
            }}
          >
            <PasswordInput
              label="Current password"
              description="Leave empty if you have none."
              autoComplete="current-password"
              value={current}
              onChange={(e) => setCurrent(e.currentTarget.value)}
            />
            <PasswordInput
              label="New password"
              description="12 characters or more. Your other sessions end."
              autoComplete="new-password"
              value={password}
              onChange={(e) => setPassword(e.currentTarget.value)}
            />
            {set.error && <ErrorCard error={set.error} />}
            <div className="acts">
              <Button type="submit" disabled={[...password].length < 12} loading={set.isPending}>
                Set password
              </Button>
              {set.isSuccess && <span className="small soft">Password set.</span>}
            </div>
          </form>
        </Panel>
      )}
    </div>
  );
}
