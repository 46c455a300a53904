import { ActionIcon, Button, SegmentedControl, Textarea } from '@mantine/core';
import { ChevronDown, ChevronRight, Play, RotateCcw, Square } from 'lucide-react';
import { useId, useMemo, useRef } from 'react';
import { Panel, Tabs } from '../../parts/elements';
import { instanceURL } from '../../parts/instanceURL';
import { Code } from '../../parts/Json';
import { SchemaForm } from '../../parts/SchemaForm';
import { check, initial, type Wrong } from '../../parts/schema';
import { snippetsOf } from '../../parts/snippets';
import { useKept } from '../../parts/store';
import { useParam } from '../../parts/url';
import { Examples } from './Examples';
import { cancel, draftKey, fill, keyOf, start, type Target, useRecordRun, useRun } from './run';

// Arguments are written in a form made from the schema and as JSON, whichever
// one likes: what is written in one stands in the other.
export function Arguments({ target }: { target: Target }) {
  const of = keyOf(target);
  const state = useRun(of);
  const past = useRecordRun();
  const [draft, setDraft] = useKept<{ text: string } | null>(sessionStorage, draftKey(target), null);
  const [how, setHow] = useParam('as', 'both');
  const [folded, setFolded] = useKept(sessionStorage, 'junctor-arguments-folded', false);
  const id = useId();
  const text = draft?.text ?? JSON.stringify(initial(target.schema) ?? {}, null, 2);
  const { value, problem } = useMemo(() => parse(text), [text]);
  const whole = useRef<unknown>({}); // the last that could be read
  if (!problem) whole.current = value;
  const wrong = useMemo((): Wrong[] => (problem ? [] : check(value, target.schema)), [value, problem, target.schema]);
  const fits = !problem && wrong.length === 0;
  const call = () => {
    if (fits && !state.busy) void start(target, value, past);
  };
  return (
    <Panel
      title={
        <button type="button" className="plainly row plain" aria-expanded={!folded} aria-controls={id} onClick={() => setFolded(!folded)}>
          {folded ? <ChevronRight size={15} aria-hidden /> : <ChevronDown size={15} aria-hidden />}
          {target.kind === 'resource' ? 'Address' : 'Arguments'}
        </button>
      }
      acts={
        <>
          <Examples of={of} value={whole.current} load={(args) => setDraft({ text: JSON.stringify(args, null, 2) })} />
          <ActionIcon aria-label="Reset arguments" onClick={() => setDraft(null)}>
            <RotateCcw size={15} />
          </ActionIcon>
          <SegmentedControl
            size="xs"
            aria-label="Input mode"
            value={how}
            onChange={setHow}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'both', label: 'Both' },
              { value: 'json', label: 'JSON' },
            ]}
          />
        </>
      }
      pad
    >
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          call();
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
            e.preventDefault();
            call();
          }
        }}
      >
        {folded ? (
          <code className="small soft cut">{JSON.stringify(value)}</code>
        ) : (
          <div id={id} className="stack">
            {how !== 'json' && (
              <fieldset className="bare" disabled={!!problem}>
                <SchemaForm
                  schema={target.schema}
                  value={whole.current}
                  wrong={wrong}
                  change={(v) => setDraft({ text: JSON.stringify(v, null, 2) })}
                />
                {problem && <p className="small soft">Invalid JSON. Fix it to use the form.</p>}
              </fieldset>
            )}
            {how !== 'form' && (
              <div className="editor stack tight">
                <Textarea
                  aria-label="Arguments as JSON"
                  autosize
                  minRows={5}
                  maxRows={24}
                  spellCheck={false}
                  value={text}
                  error={problem}
                  onChange={(e) => setDraft({ text: e.currentTarget.value })}
                />
                <ArgumentProblems wrong={wrong} />
              </div>
            )}
          </div>
        )}
        <div className="acts">
          <Button type="submit" leftSection={<Play size={15} />} disabled={!fits || state.busy} title="Ctrl+Enter">
            Run
          </Button>
          {state.busy && (
            <Button variant="default" color="red" leftSection={<Square size={13} />} onClick={cancel}>
              Cancel
            </Button>
          )}
          {!fits && !problem && <span className="small soft">{missing(wrong)}</span>}
          {target.kind === 'resource' && fits && (
            <code className="small soft wrap">{fill(target.name, value as Record<string, unknown>)}</code>
          )}
        </div>
      </form>
      <Snippets target={target} args={value} />
    </Panel>
  );
}

function ArgumentProblems({ wrong }: { wrong: Wrong[] }) {
  if (wrong.length === 0) return null;
  return (
    <ul className="small" style={{ margin: 0, paddingLeft: '1.125rem', color: 'var(--bad)' }}>
      {wrong.slice(0, 8).map((w, i) => (
        <li key={i}>
          <code>{w.pointer || '/'}</code> {w.message}
        </li>
      ))}
    </ul>
  );
}

function parse(text: string): { value: unknown; problem?: string } {
  try {
    return { value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch (err) {
    return { value: {}, problem: (err as Error).message };
  }
}

const missing = (wrong: Wrong[]) => {
  const w = wrong[0];
  return w ? `${w.pointer.slice(1) || 'The value'} ${w.message}${wrong.length > 1 ? `, and ${wrong.length - 1} more` : ''}.` : '';
};

function Snippets({ target, args }: { target: Target; args: unknown }) {
  const [lang, setLang] = useKept(localStorage, 'junctor-language', 'curl');
  const name = target.kind === 'resource' ? fill(target.name, (args ?? {}) as Record<string, unknown>) : target.name;
  const all = snippetsOf({ origin: instanceURL(), kind: target.kind, server: target.server, name, args });
  const chosen = all.find((s) => s.key === lang) ?? all[0];
  return (
    <details style={{ marginTop: '0.875rem' }}>
      <summary className="small soft">Code snippets</summary>
      <div className="stack" style={{ marginTop: '0.5rem' }}>
        <Tabs label="Language" now={chosen?.key ?? ''} choose={setLang} tabs={all.map((s) => [s.key, s.name])} />
        {chosen && <Code label="Copy the code">{chosen.text}</Code>}
        <p className="tiny soft">
          Set <code>JUNCTOR_KEY</code> to a key with the scope tools:call first.
          {chosen?.how && (
            <>
              {' '}
              Run it: <code>{chosen.how}</code>
            </>
          )}
        </p>
      </div>
    </details>
  );
}
