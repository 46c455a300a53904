import { Button, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { send } from '../../api/client';
import type { Source } from '../../api/events';
import { faultsOf, unplaced } from '../../parts/faults';
import { ErrorCard } from '../../parts/states';
import { useFields } from '../../parts/useFields';
import { NewSecret } from './NewSecret';
import { isName, makeSecret, nameRule, pulled, type Style, styles } from './styles';

interface Fields {
  id: string;
  style: Style;
  title: string;
  secret: string;
  header: string;
  key: string;
  type: string;
  agent: string;
}

// AddSource makes a source. A secret that is not entered is made here, and shown
// once.
export function AddSource({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const { fields: f, text } = useFields<Fields>(
    {
      id: '',
      style: 'standard',
      title: '',
      secret: '',
      header: '',
      key: '',
      type: '',
      agent: '',
    },
    () => add.reset(),
  );
  const { id, style, secret } = f;
  const how = styles[style];
  const add = useMutation({
    mutationFn: async () => {
      const made = secret === '' ? makeSecret(style) : '';
      const source = await send<Source>('POST', '/sources', {
        id,
        style,
        secret: secret || made,
        title: f.title || undefined,
        header: style === 'hmac' ? f.header || undefined : undefined,
        key: pulled(style) ? f.key || undefined : undefined,
        type_field: f.type || undefined,
        agent_field: f.agent || undefined,
      });
      return { source, made };
    },
    onSuccess: ({ made }) => {
      if (!made) close();
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['sources'] }),
  });
  if (add.data?.made) return <NewSecret id={add.data.source.id} path={add.data.source.path} secret={add.data.made} close={close} />;
  const faults = faultsOf(add.error, ['id', 'secret', 'header', 'key', 'type_field', 'agent_field'], 'id');
  const fits = isName(id) && (secret !== '' || how.makes);
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (fits) add.mutate();
      }}
    >
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput
          className="grow"
          style={{ minWidth: '10rem' }}
          label="ID"
          description={pulled(style) ? 'The source name in its events.' : 'Part of the webhook URL.'}
          placeholder="billing"
          required
          data-autofocus
          error={id && !isName(id) ? nameRule : faults.id}
          {...text('id')}
        />
        <NativeSelect
          className="grow"
          style={{ minWidth: '10rem' }}
          label="Style"
          description={how.about}
          data={Object.entries(styles).map(([value, s]) => ({ value, label: s.name }))}
          {...text('style')}
        />
      </div>
      <PasswordInput
        label={pulled(style) ? 'Redis URL' : 'Secret'}
        description={
          pulled(style)
            ? 'redis://user:password@host:6379/0. Stored encrypted and never shown again.'
            : how.makes
              ? 'Leave empty to generate one. It is shown once.'
              : 'Stored encrypted and never shown again.'
        }
        autoComplete="off"
        required={!how.makes}
        error={faults.secret}
        {...text('secret')}
      />
      {style === 'hmac' && <TextInput label="Header" placeholder="X-Signature-256" {...text('header')} />}
      {pulled(style) && <TextInput label={style === 'redis' ? 'List' : 'Stream'} placeholder="action_jobs" {...text('key')} />}
      <details>
        <summary className="small soft">Title and fields for type and agent</summary>
        <div className="stack" style={{ marginTop: '0.75rem' }}>
          <TextInput label="Title" {...text('title')} />
          <TextInput label="Type field" description="By default, the field of the style." placeholder="data.kind" {...text('type')} />
          <TextInput label="Agent field" placeholder="data.agent_id" {...text('agent')} />
        </div>
      </details>
      {unplaced(add.error, faults) ? <ErrorCard error={add.error} /> : null}
      <div className="acts">
        <Button type="submit" disabled={!fits} loading={add.isPending}>
          Add
        </Button>
      </div>
    </form>
  );
}
