import { Button, Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure, type Schemas, send } from '../../api/client';
import type { AgentEndpoint } from '../../api/happenings';
import { Code } from '../../parts/Json';
import { ErrorCard } from '../../parts/states';

const headers = [
  { value: 'auto', label: 'As its registration says, else Authorization' },
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
  const [agent, setAgent] = useState(had.agent ?? '');
  const [url, setURL] = useState(had.url ?? '');
  const [header, setHeader] = useState(had.header ?? 'auto');
  const [transport, setTransport] = useState(had.transport ?? 'http');
  const [token, setToken] = useState('');
  const [sign, setSign] = useState(false);
  const [version, setVersion] = useState(had.updated_at);
  const put = useMutation({
    mutationFn: () =>
      send<Schemas['StoredToken']>(
        'PUT',
        `/agent-tokens/${encodeURIComponent(agent)}`,
        {
          url,
          header,
          transport,
          sign,
          token: token || undefined,
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
        <p>Deliveries are signed with this secret; it is shown this once. The agent needs it to check them.</p>
        <Code label="Copy the secret">{put.data.signing_secret}</Code>
        <div className="acts">
          <Button onClick={close}>I have kept it</Button>
        </div>
      </div>
    );
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
        description="As events name it."
        placeholder="42"
        required
        readOnly={had.agent !== undefined}
        data-autofocus
        value={agent}
        onChange={(e) => setAgent(e.currentTarget.value)}
      />
      <TextInput
        label="URL"
        description="Its own MCP endpoint."
        placeholder="https://agent.example/mcp"
        required
        value={url}
        error={url && !/^https?:\/\/\S+$/.test(url) ? 'An http or https address.' : undefined}
        onChange={(e) => setURL(e.currentTarget.value)}
      />
      <PasswordInput
        label="Token"
        description={
          had.agent
            ? 'Empty: the one that is stored stays.'
            : 'Sealed at once, and never shown again. It may have none. env:NAME and file:/path are read on the server whenever it is sent.'
        }
        autoComplete="off"
        value={token}
        onChange={(e) => setToken(e.currentTarget.value)}
      />
      <div className="row">
        <NativeSelect className="grow" label="Sent in" value={header} data={headers} onChange={(e) => setHeader(e.currentTarget.value)} />
        <NativeSelect
          className="grow"
          label="Transport"
          value={transport}
          data={[
            { value: 'http', label: 'Streamable HTTP' },
            { value: 'sse', label: 'HTTP+SSE' },
          ]}
          onChange={(e) => setTransport(e.currentTarget.value as typeof transport)}
        />
      </div>
      <Checkbox
        label={had.signed ? 'Make another secret to sign with' : 'Make a secret to sign with'}
        checked={sign}
        onChange={(e) => setSign(e.currentTarget.checked)}
      />
      {put.error && <ErrorCard error={put.error} />}
      <div className="acts">
        <Button type="submit" disabled={!ready} loading={put.isPending}>
          Keep it
        </Button>
      </div>
    </form>
  );
}
