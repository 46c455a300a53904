import { NativeSelect, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { Schemas } from '../../api/client';
import { unpack } from '../../parts/document';
import { Panel, Scroll, Tag, type Tone } from '../../parts/elements';
import { bytes, count, counted } from '../../parts/format';
import { SourceText } from '../../parts/SourceText';
import { matches } from '../../parts/search';
import { Empty } from '../../parts/states';

type Problem = Schemas['APIProblem'];

export const tones: Record<Problem['severity'], Tone> = { error: 'bad', warning: 'warn', hint: 'act' };
const most = 300;

export interface Spot {
  file?: string | undefined;
  line: number;
  column?: number;
}

// Problems are what is wrong with a document, beside its text. Which place is
// shown is the user's of this part: tools and models have places too.
export function Problems({
  problems,
  text,
  file,
  spot,
  show,
}: {
  problems: Problem[];
  text: string;
  file: string | undefined;
  spot: Spot | undefined;
  show: (s: Spot) => void;
}) {
  const [severity, setSeverity] = useState('');
  const [q, setQ] = useState('');
  const all = useMemo(() => unpack(text, file), [text, file]);
  const found = problems.filter((p) => (!severity || p.severity === severity) && matches(q, p.message, p.code, p.operation, p.pointer));
  const shown = found.slice(0, most);
  const at = spot ?? problems[0];
  const name = at?.file && all.files.has(at.file) ? at.file : all.main;
  const foreign = at?.file && at.file !== all.main && !all.files.has(at.file) ? at.file : '';
  const marks = useMemo(() => {
    const m = new Map<number, Tone>();
    for (const p of problems) if ((p.file || all.main) === name && m.get(p.line) !== 'bad') m.set(p.line, tones[p.severity]);
    return m;
  }, [problems, name, all]);
  const body = all.files.get(name) ?? '';
  const number = (s: Problem['severity']) => problems.filter((p) => p.severity === s).length;
  return (
    <div className="columns beside">
      <Panel
        title={counted(problems.length, 'problem')}
        acts={
          problems.length > 6 && (
            <>
              <NativeSelect
                size="xs"
                aria-label="Severity"
                value={severity}
                data={[
                  { value: '', label: 'all' },
                  { value: 'error', label: `errors ${number('error')}` },
                  { value: 'warning', label: `warnings ${number('warning')}` },
                  { value: 'hint', label: `hints ${number('hint')}` },
                ]}
                onChange={(e) => setSeverity(e.currentTarget.value)}
              />
              <TextInput
                size="xs"
                placeholder="Find"
                aria-label="Find a problem"
                value={q}
                onChange={(e) => setQ(e.currentTarget.value)}
                style={{ width: '8rem' }}
              />
            </>
          )
        }
      >
        {problems.length === 0 ? (
          <Empty title="No problems">Every operation was read without problems.</Empty>
        ) : (
          <Scroll label="Problems" className="rows" height="30rem">
            {shown.map((p, i) => (
              <button
                key={i}
                type="button"
                className="problem"
                aria-pressed={at?.line === p.line && (at.column ?? 1) === p.column && (at.file ?? '') === (p.file ?? '')}
                onClick={() => show(p)}
              >
                <span className="row" style={{ width: '100%' }}>
                  <Tag tone={tones[p.severity]}>{p.severity}</Tag>
                  <code className="tiny soft grow cut">{p.code}</code>
                  <code className="tiny soft">
                    {p.file && p.file !== all.main ? `${p.file}:` : ''}
                    {p.line}:{p.column}
                  </code>
                </span>
                <span className="small wrap">{p.message}</span>
                {p.remedy && <span className="small soft wrap">{p.remedy}</span>}
                {p.operation && <code className="tiny soft wrap">{p.operation}</code>}
              </button>
            ))}
            {found.length > shown.length && (
              <div className="small soft">{count(found.length - shown.length)} more. Filter by severity or text.</div>
            )}
            {found.length === 0 && <div className="small soft">No problem matches.</div>}
          </Scroll>
        )}
      </Panel>
      <Panel
        title={name === 'document' ? 'Document' : name}
        acts={
          <span className="small soft num">
            {at && !foreign ? `line ${count(at.line)} · ` : ''}
            {bytes(body.length)}
          </span>
        }
      >
        {foreign && (
          <p className="pad small">
            The problem is in <code>{foreign}</code>, line {at?.line}. The document refers to this file.
          </p>
        )}
        <SourceText
          text={body}
          at={at && !foreign ? { line: at.line, column: at.column ?? 1 } : undefined}
          marks={marks}
          label="Text of the document"
        />
      </Panel>
    </div>
  );
}
