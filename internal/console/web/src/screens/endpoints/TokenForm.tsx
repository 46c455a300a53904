import { Button, Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure, type Schemas, send } from '../../api/client';
import type { AgentEndpoint } from '../../api/events';
import { faultsOf, unplaced } from '../../parts/faults';
import { Code } from '../../parts/Json';
import { ErrorCard } from '../../parts/states';
import { useFields } from '../../parts/useFields';

const headers = [
  { value: 'auto', label: 'From its registration, or Authorization' },
  { value: 'Authorization', label: 'Authorization' },
  { value: 'X-Agent-Token', label: 'X-Agent-Token' },
  { value: 'X-API-Key', label: 'X-API-Key' },
];

// sameOrigin says whether two addresses belong to one stored endpoint.
function sameOrigin(a: string, b: string | undefined): boolean {
  try {
    return b !== undefined && new URL(a).origin === new URL(b).origin;
  } catch {
    return false;
  }
}

// TokenForm enters an agent's endpoint and its token. What was held for the want
// of it goes on.
export function TokenForm({ had, close }: { had: Partial<AgentEndpoint>; close: () => void }) {
  const cache = useQueryClient();
  const {
    fields: f,
    text,
    check,
  } = useFields({
    agent: had.agent ?? '',
    url: had.url ?? '',
    header: had.header ?? 'auto',
    transport: had.transport ?? 'http',
    token: '',
    sign: false,
  });
  const { agent, url } = f;
  const [version, setVersion] = useState(had.updated_at);
  const put = useMutation({
    mutationFn: () =>
      send<Schemas['StoredToken']>(
        'PUT',
        `/agent-tokens/${encodeURIComponent(agent)}`,
        {
          url,
          header: f.header,
          transport: f.transport,
          sign: f.sign,
          token: f.token || undefined,
        },
        { match: sameOrigin(url, had.url) ? version : undefined },
      ),
    // What somebody else stored is shown; who then saves again means to replace it.
    onError: (err) => {
      if (err instanceof Failure && err.problem.code === 'precondition') setVersion((err.problem.current as AgentEndpoint).updated_at);
    },
    onSuccess: (stored) => {
      if (!stored.signing_secret) close();
    },
    onSettled: () => Promise.all(['agent-tokens', 'endpoints', 'deliveries'].map((k) => cache.invalidateQueries({ queryKey: [k] }))),
  });
  if (put.data?.signing_secret)
    return (
      <div className="stack">
        <p>Deliveries are signed with this secret. Copy it now: it is shown only once. The agent needs it to verify deliveries.</p>
        <Code label="Copy the secret">{put.data.signing_secret}</Code>
        <div className="acts">
          <Button onClick={close}>I saved the secret</Button>
        </div>
      </div>
    );
  const faults = faultsOf(put.error, ['url', 'header', 'transport', 'token']);
  const ready = agent !== '' && /^https?:\/\/\S+$/.test(url);
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) put.mutate();
      }}
    >
      <TextInput
        label="Agent"
        description="The agent name in events"
        placeholder="42"
        required
        readOnly={had.agent !== undefined}
        data-autofocus
        {...text('agent')}
      />
      <TextInput
        label="URL"
        description="MCP endpoint of the agent"
        placeholder="https://agent.example/mcp"
        required
        error={url && !/^https?:\/\/\S+$/.test(url) ? 'Enter an http or https URL.' : faults.url}
        {...text('url')}
      />
      <PasswordInput
        label="Token"
        description={
          had.agent
            ? 'Leave empty to keep the stored token.'
            : 'Optional. Stored encrypted and never shown again. References (env:NAME, file:/path) are read for each delivery.'
        }
        autoComplete="off"
        error={faults.token}
        {...text('token')}
      />
      <div className="row">
        <NativeSelect className="grow" label="Header" data={headers} {...text('header')} />
        <NativeSelect
          className="grow"
          label="Transport"
          data={[
            { value: 'http', label: 'Streamable HTTP' },
            { value: 'sse', label: 'HTTP+SSE' },
          ]}
          {...text('transport')}
        />
      </div>
      <Checkbox label={had.signed ? 'Create a new signing secret' : 'Create a signing secret'} {...check('sign')} />
      {unplaced(put.error, faults) ? <ErrorCard error={put.error} /> : null}
      <div className="acts">
        <Button type="submit" disabled={!ready} loading={put.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
