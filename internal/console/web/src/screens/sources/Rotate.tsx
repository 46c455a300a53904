import { Button, Checkbox, PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../../api/client';
import type { Source } from '../../api/happenings';
import { ErrorCard } from '../../parts/states';
import { Shown } from './AddSource';
import { makeSecret, pulled, styles } from './styles';

// Rotate gives a source another secret. The former counts on until the next one,
// unless it is to end at once.
export function Rotate({ source, close }: { source: Source; close: () => void }) {
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
  if (put.data) return <Shown id={source.id} path={source.path} secret={put.data} close={close} />;
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        put.mutate();
      }}
    >
      <PasswordInput
        label={pulled(source.style) ? 'Address of the Redis' : 'Secret'}
        description={makes ? 'Empty: one is made, and shown once.' : 'Sealed at once, and never shown again.'}
        autoComplete="off"
        data-autofocus
        value={secret}
        onChange={(e) => setSecret(e.currentTarget.value)}
      />
      {!pulled(source.style) && (
        <Checkbox
          label="The former does not count any more, from now on"
          checked={atOnce}
          onChange={(e) => setAtOnce(e.currentTarget.checked)}
        />
      )}
      {put.error && <ErrorCard error={put.error} />}
      <div className="acts">
        <Button type="submit" disabled={!makes && secret === ''} loading={put.isPending}>
          Replace it
        </Button>
      </div>
    </form>
  );
}
