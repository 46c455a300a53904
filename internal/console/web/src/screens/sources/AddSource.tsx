import { Button, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../../api/client';
import type { Source } from '../../api/happenings';
import { Copy } from '../../parts/bits';
import { Code } from '../../parts/Json';
import { ErrorCard } from '../../parts/states';
import { hook } from './SourceList';
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
  if (add.data?.made) return <Shown id={add.data.source.id} path={add.data.source.path} secret={add.data.made} close={close} />;
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
          label="Id"
          description={pulled(style) ? 'What its events name.' : 'It is part of the address.'}
          placeholder="billing"
          required
          data-autofocus
          value={id}
          error={id && !isName(id) ? nameRule : undefined}
          onChange={(e) => setID(e.currentTarget.value)}
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
        label={pulled(style) ? 'Address of the Redis' : 'Secret'}
        description={
          pulled(style)
            ? 'redis://user:password@host:6379/0; sealed at once, and never shown again.'
            : how.makes
              ? 'Empty: one is made, and shown once.'
              : 'Sealed at once, and never shown again.'
        }
        autoComplete="off"
        required={!how.makes}
        value={secret}
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
        <summary className="small soft">Where type and agent are, and a title</summary>
        <div className="stack" style={{ marginTop: '0.75rem' }}>
          <TextInput label="Title" value={title} onChange={(e) => setTitle(e.currentTarget.value)} />
          <TextInput
            label="Type"
            description="Empty: the style’s own place."
            placeholder="data.kind"
            value={typeField}
            onChange={(e) => setTypeField(e.currentTarget.value)}
          />
          <TextInput label="Agent" placeholder="data.agent_id" value={agentField} onChange={(e) => setAgentField(e.currentTarget.value)} />
        </div>
      </details>
      {add.error && <ErrorCard error={add.error} />}
      <div className="acts">
        <Button type="submit" disabled={!fits} loading={add.isPending}>
          Add it
        </Button>
      </div>
    </form>
  );
}

// Shown is a secret that was made, this once.
export function Shown({ id, path = '', secret, close }: { id: string; path?: string; secret: string; close: () => void }) {
  return (
    <div className="stack">
      <p>
        Messages of <b>{id}</b> are signed with this secret. It is shown this once.
      </p>
      <Code label="Copy the secret">{secret}</Code>
      <dl className="facts">
        <dt>Post them to</dt>
        <dd className="row">
          <code className="wrap">{hook(path)}</code> <Copy value={hook(path)} label="Copy the address" />
        </dd>
      </dl>
      <div className="acts">
        <Button onClick={close}>I have kept it</Button>
      </div>
    </div>
  );
}
