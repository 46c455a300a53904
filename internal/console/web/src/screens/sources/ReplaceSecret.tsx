import { Button, Checkbox, PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../../api/client';
import type { Source } from '../../api/events';
import { ErrorCard } from '../../parts/states';
import { NewSecret } from './NewSecret';
import { makeSecret, pulled, styles } from './styles';

// ReplaceSecret gives a source another secret. The former counts on until the next one,
// unless it is to end at once.
export function ReplaceSecret({ source, close }: { source: Source; close: () => void }) {
  const cache = useQueryClient();
  const [secret, setSecret] = useState('');
  const [atOnce, setAtOnce] = useState(false);
  const makes = styles[source.style].makes;
  const put = useMutation({
    mutationFn: async () => {
      const made = secret === '' ? makeSecret(source.style) : '';
      await send('PATCH', `/sources/${source.id}`, { secret: secret || made, at_once: atOnce || undefined });
      return made;
    },
    onSuccess: (made) => {
      if (!made) close();
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['sources'] }),
  });
  if (put.data) return <NewSecret id={source.id} path={source.path} secret={put.data} close={close} />;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        put.mutate();
      }}
    >
      <PasswordInput
        label={pulled(source.style) ? 'Redis URL' : 'Secret'}
        description={makes ? 'Leave empty to generate one. It is shown once.' : 'Stored encrypted and never shown again.'}
        autoComplete="off"
        data-autofocus
        value={secret}
        onChange={(e) => setSecret(e.currentTarget.value)}
      />
      {!pulled(source.style) && (
        <Checkbox label="Reject the old secret immediately" checked={atOnce} onChange={(e) => setAtOnce(e.currentTarget.checked)} />
      )}
      {put.error && <ErrorCard error={put.error} />}
      <div className="acts">
        <Button type="submit" disabled={!makes && secret === ''} loading={put.isPending}>
          Replace
        </Button>
      </div>
    </form>
  );
}
