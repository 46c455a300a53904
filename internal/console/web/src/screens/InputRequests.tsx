import { Button, Textarea } from '@mantine/core';
import { useState } from 'react';
import { ExternalLink, Panel } from '../parts/elements';
import { Json } from '../parts/Json';
import { SchemaForm } from '../parts/SchemaForm';
import { check, initial, type Schema } from '../parts/schema';

export interface Ask {
  method: string;
  params?: Record<string, unknown>;
}

// InputRequests are what a server wants to know before it goes on. All are
// answered together.
export function InputRequests({ asks, answer }: { asks: Record<string, Ask>; answer: (responses: Record<string, unknown>) => void }) {
  const [given, setGiven] = useState<Record<string, unknown>>({});
  const keys = Object.keys(asks);
  const give = (key: string, value: unknown) => {
    const next = { ...given, [key]: value };
    setGiven(next);
    if (keys.every((k) => k in next)) answer(next);
  };
  return (
    <div className="stack">
      {keys.map((key) => {
        const ask = asks[key];
        if (!ask || key in given) return null;
        return <InputRequest key={key} ask={ask} give={(v) => give(key, v)} />;
      })}
    </div>
  );
}

function InputRequest({ ask, give }: { ask: Ask; give: (v: unknown) => void }) {
  if (ask.method === 'elicitation/create')
    return ask.params?.mode === 'url' ? <Visit ask={ask} give={give} /> : <Elicitation ask={ask} give={give} />;
  if (ask.method === 'sampling/createMessage') return <Sampling ask={ask} give={give} />;
  if (ask.method === 'roots/list')
    return (
      <Panel title="The server asks for your root folders" pad>
        <Button onClick={() => give({ roots: [] })}>None</Button>
      </Panel>
    );
  return (
    <Panel title={`The server requests ${ask.method}`} pad>
      <Json value={ask} />
    </Panel>
  );
}

function Elicitation({ ask, give }: { ask: Ask; give: (v: unknown) => void }) {
  const schema = (ask.params?.requestedSchema ?? { type: 'object' }) as Schema;
  const [value, setValue] = useState<unknown>(() => initial(schema) ?? {});
  const wrong = check(value, schema);
  return (
    <Panel title="The server asks for input" pad>
      <form
        className="stack"
        aria-label="Input request"
        onSubmit={(e) => {
          e.preventDefault();
          if (wrong.length === 0) give({ action: 'accept', content: value });
        }}
      >
        <p className="wrap">{String(ask.params?.message ?? '')}</p>
        <p className="tiny soft">The server asks for this, not Junctor. Do not enter anything that the server should not know.</p>
        <SchemaForm schema={schema} value={value} wrong={wrong} change={setValue} />
        <div className="acts">
          <Button type="submit" disabled={wrong.length > 0}>
            Answer
          </Button>
          <Button variant="default" onClick={() => give({ action: 'decline' })}>
            Decline
          </Button>
          <Button variant="subtle" color="gray" onClick={() => give({ action: 'cancel' })}>
            Cancel
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function Visit({ ask, give }: { ask: Ask; give: (v: unknown) => void }) {
  return (
    <Panel title="The server asks you to open a page" pad>
      <div className="stack">
        <p className="wrap">{String(ask.params?.message ?? '')}</p>
        <ExternalLink href={String(ask.params?.url ?? '')} />
        <div className="acts">
          <Button onClick={() => give({ action: 'accept' })}>Done</Button>
          <Button variant="default" onClick={() => give({ action: 'decline' })}>
            Decline
          </Button>
        </div>
      </div>
    </Panel>
  );
}

interface Message {
  role?: string;
  content?: unknown;
}

const textIn = (content: unknown): string =>
  [content ?? []]
    .flat()
    .map((c) => (typeof c === 'object' && c !== null && 'text' in c ? String(c.text) : JSON.stringify(c)))
    .join('\n');

function Sampling({ ask, give }: { ask: Ask; give: (v: unknown) => void }) {
  const [text, setText] = useState('');
  const messages = (Array.isArray(ask.params?.messages) ? ask.params.messages : []) as Message[];
  return (
    <Panel title="The server asks a model: answer in its place" pad>
      <form
        className="stack"
        aria-label="Sampling request"
        onSubmit={(e) => {
          e.preventDefault();
          give({ role: 'assistant', model: 'a person', stopReason: 'endTurn', content: { type: 'text', text } });
        }}
      >
        {typeof ask.params?.systemPrompt === 'string' && <p className="small soft wrap">{ask.params.systemPrompt}</p>}
        {messages.map((m, i) => (
          <div key={i} className="stack tight">
            <span className="tiny soft">{String(m.role ?? '')}</span>
            <p className="wrap">{textIn(m.content)}</p>
          </div>
        ))}
        <details>
          <summary className="small soft">Full request</summary>
          <Json value={ask.params} />
        </details>
        <Textarea label="Your answer" autosize minRows={3} value={text} onChange={(e) => setText(e.currentTarget.value)} />
        <div className="acts">
          <Button type="submit" disabled={text === ''}>
            Answer
          </Button>
        </div>
      </form>
    </Panel>
  );
}
