import { Button, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../../api/client';
import type { Source } from '../../api/events';
import { faultsOf, unplaced } from '../../parts/faults';
import { ErrorCard } from '../../parts/states';
import { NewSecret } from './NewSecret';
import { isName, makeSecret, nameRule, pulled, type Style, styles } from './styles';

// AddSource makes a source. A secret that is not entered is made here, and shown
// once.
export function AddSource({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const [id, setID] = useState('');
  const [style, setStyle] = useState<Style>('standard');
  const [title, setTitle] = useState('');
  const [secret, setSecret] = useState('');
  const [header, setHeader] = useState('');
  const [key, setKey] = useState('');
  const [typeField, setTypeField] = useState('');
  const [agentField, setAgentField] = useState('');
  const how = styles[style];
  const add = useMutation({
    mutationFn: async () => {
      const made = secret === '' ? makeSecret(style) : '';
      const source = await send<Source>('POST', '/sources', {
        id,
        style,
        secret: secret || made,
        title: title || undefined,
        header: style === 'hmac' ? header || undefined : undefined,
        key: pulled(style) ? key || undefined : undefined,
        type_field: typeField || undefined,
        agent_field: agentField || undefined,
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
          value={id}
          error={id && !isName(id) ? nameRule : faults.id}
          onChange={(e) => {
            add.reset();
            setID(e.currentTarget.value);
          }}
        />
        <NativeSelect
          className="grow"
          style={{ minWidth: '10rem' }}
          label="Style"
          description={how.about}
          value={style}
          data={Object.entries(styles).map(([value, s]) => ({ value, label: s.name }))}
          onChange={(e) => setStyle(e.currentTarget.value as Style)}
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
        value={secret}
        error={faults.secret}
        onChange={(e) => setSecret(e.currentTarget.value)}
      />
      {style === 'hmac' && (
        <TextInput label="Header" placeholder="X-Signature-256" value={header} onChange={(e) => setHeader(e.currentTarget.value)} />
      )}
      {pulled(style) && (
        <TextInput
          label={style === 'redis' ? 'List' : 'Stream'}
          placeholder="action_jobs"
          value={key}
          onChange={(e) => setKey(e.currentTarget.value)}
        />
      )}
      <details>
        <summary className="small soft">Title and fields for type and agent</summary>
        <div className="stack" style={{ marginTop: '0.75rem' }}>
          <TextInput label="Title" value={title} onChange={(e) => setTitle(e.currentTarget.value)} />
          <TextInput
            label="Type field"
            description="By default, the field of the style."
            placeholder="data.kind"
            value={typeField}
            onChange={(e) => setTypeField(e.currentTarget.value)}
          />
          <TextInput
            label="Agent field"
            placeholder="data.agent_id"
            value={agentField}
            onChange={(e) => setAgentField(e.currentTarget.value)}
          />
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
