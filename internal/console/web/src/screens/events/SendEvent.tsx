import { Button, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import { send } from '../../api/client';
import type { Taken } from '../../api/events';
import { counted } from '../../parts/format';
import { parseJSON } from '../../parts/parseJSON';
import { ErrorCard } from '../../parts/states';
import { useFields } from '../../parts/useFields';

// SendEvent sends an event as any sender does: it is stored when the answer comes,
// and triggers make calls of it.
export function SendEvent({ close }: { close: () => void }) {
  const cache = useQueryClient();
  const { fields: f, text } = useFields({ type: '', agent: '', source: '', key: '', data: '{}' });
  const { type } = f;
  const parsed = parseJSON(f.data);
  const take = useMutation({
    mutationFn: () =>
      send<Taken>('POST', '/events', {
        type,
        agent: f.agent || undefined,
        source: f.source || undefined,
        dedupe_key: f.key || undefined,
        data: parsed.value,
      }),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: ['events'] });
      void cache.invalidateQueries({ queryKey: ['deliveries'] });
    },
  });
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (type && !parsed.problem) take.mutate();
      }}
    >
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput
          className="grow"
          label="Type"
          description="What happened"
          placeholder="report.finished"
          required
          data-autofocus
          {...text('type')}
        />
        <TextInput
          className="grow"
          label="Agent"
          description="The agent that it concerns. Events of one agent keep their order."
          {...text('agent')}
        />
      </div>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <TextInput className="grow" label="Source" description="Where it comes from" placeholder="api" {...text('source')} />
        <TextInput className="grow" label="Idempotency key" description="Events with the same key are stored once." {...text('key')} />
      </div>
      <div className="editor">
        <Textarea
          label="Data"
          description="JSON. Triggers read it as data."
          autosize
          minRows={4}
          maxRows={16}
          spellCheck={false}
          error={parsed.problem}
          {...text('data')}
        />
      </div>
      {take.error && <ErrorCard error={take.error} />}
      {take.data && <SentEvent taken={take.data} />}
      <div className="acts">
        <Button type="submit" disabled={!type || !!parsed.problem} loading={take.isPending}>
          {take.data ? 'Send again' : 'Send'}
        </Button>
        {take.data && (
          <Button variant="default" onClick={close}>
            Close
          </Button>
        )}
      </div>
    </form>
  );
}

// SentEvent says what became of an event that was sent.
export function SentEvent({ taken }: { taken: Taken }) {
  return (
    <div className="stack tight small" role="status">
      <p>
        {taken.duplicate ? 'Already received, so nothing was done: ' : 'Received: '}
        <Link className="link" href={`/events/${taken.id}`}>
          the event
        </Link>
        {taken.deliveries.length > 0
          ? `. It makes ${counted(taken.deliveries.length, 'call')}.`
          : taken.duplicate
            ? '.'
            : '. It makes no call now.'}
      </p>
      {taken.faults?.map((f) => (
        <p key={f} className="wrap" style={{ color: 'var(--bad)' }}>
          {f}
        </p>
      ))}
    </div>
  );
}
