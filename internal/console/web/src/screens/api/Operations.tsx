import { NativeSelect, TextInput } from '@mantine/core';
import { memo, useState } from 'react';
import type { APIPreview, Schemas } from '../../api/client';
import { Panel, Scroll, Tag } from '../../parts/elements';
import { FilterInput } from '../../parts/FilterInput';
import { count, counted } from '../../parts/format';
import { matches } from '../../parts/search';
import { Empty } from '../../parts/states';
import { Virtual } from '../../parts/Virtual';
import type { Spot } from './Problems';

type Endpoint = Schemas['APIEndpoint'];

// toolCount is how many operations become tools: those that are whole, and those
// that can be called with what is known of them.
export const toolCount = (p: { ready: number; partial: number }) => p.ready + p.partial;

// signature is what an operation takes and answers, on one line.
const signature = (e: Endpoint) => {
  const takes = e.parameters.map((p) => `${p.name}${p.required ? '*' : ''}`).join(', ') || 'no parameters';
  const answers = e.responses.map((r) => [r.status, r.type].filter(Boolean).join(' ')).join(', ');
  return answers ? `${takes} → ${answers}` : takes;
};

// signatureDetails says the same, a line for each parameter and each answer.
const signatureDetails = (e: Endpoint) =>
  [
    ...e.parameters.map(
      (p) => `${p.name}: ${p.type} in ${p.in}${p.required ? ', required' : ''}${p.description ? `. ${p.description}` : ''}`,
    ),
    ...e.responses.map((r) => ['→', r.status, r.type || r.media, r.description].filter(Boolean).join(' ')),
  ].join('\n');

const height = 78;

// Operations are the operations of a document and the tools that they become.
export function Operations({ preview, show }: { preview: APIPreview; show: (s: Spot) => void }) {
  const [q, setQ] = useState('');
  const [status, setStatus] = useState('');
  const all = preview.endpoints;
  const found = all.filter(
    (e) => (!status || e.status === status) && matches(q, e.key, e.tool, e.description, e.tags?.join(' '), e.roles.join(' '), e.category),
  );
  return (
    <Panel
      title={counted(toolCount(preview), 'tool')}
      acts={
        <>
          <span className="small soft">about {count(preview.tokens)} tokens</span>
          <NativeSelect
            size="xs"
            aria-label="Filter by state"
            value={status}
            data={[
              { value: '', label: `all ${all.length}` },
              { value: 'ready', label: `ready ${preview.ready}` },
              { value: 'incomplete', label: `incomplete ${preview.incomplete}` },
              { value: 'excluded', label: `excluded ${preview.excluded}` },
            ]}
            onChange={(e) => setStatus(e.currentTarget.value)}
          />
          <FilterInput label="Find an operation" small value={q} change={setQ} />
        </>
      }
    >
      {found.length === 0 ? (
        <Empty title="No operation matches" />
      ) : (
        <Virtual
          count={found.length}
          height={height}
          label="Operations"
          row={(i) => {
            const e = found[i];
            return e && <Row key={e.key} e={e} show={show} />;
          }}
        />
      )}
    </Panel>
  );
}

const verbs: Record<string, string> = { GET: 'good', HEAD: 'good', QUERY: 'good', DELETE: 'bad' };

export function Verb({ of }: { of: string }) {
  const [method = '', ...path] = of.split(' ');
  return (
    <>
      <span className={`verb ${verbs[method] ?? 'warn'}`}>{method}</span> <span className="mono cut">{path.join(' ')}</span>
    </>
  );
}

const Row = memo(function Row({ e, show }: { e: Endpoint; show: (s: Spot) => void }) {
  return (
    <li className="line" style={{ height }}>
      <button
        type="button"
        className="plainly row plain toolrow"
        style={{ height: '100%', width: '100%', padding: '0 1rem', opacity: e.status === 'excluded' ? 0.7 : 1 }}
        title={`Line ${e.line}`}
        onClick={() => show({ line: e.line })}
      >
        <span className="grow">
          <span className="row plain">
            <span className="mono cut" style={{ fontWeight: 550 }}>
              {e.tool || '–'}
            </span>
            {e.status === 'incomplete' && (
              <Tag tone={e.callable ? 'warn' : 'bad'} title={e.callable ? 'Incomplete, but can be called' : 'Cannot be called'}>
                {e.reasons?.[0] ?? 'incomplete'}
              </Tag>
            )}
            {e.status === 'excluded' && <Tag>excluded</Tag>}
            {e.deprecated && <Tag tone="warn">deprecated</Tag>}
            {e.inferred && <Tag title="Inferred from examples or prose">inferred</Tag>}
          </span>
          <span className="row plain small soft">
            <Verb of={e.key} />
            <span className="cut wide">{e.title || e.description}</span>
          </span>
          <span className="tiny soft cut mono" title={signatureDetails(e)}>
            {signature(e)}
          </span>
        </span>
        <span className="row plain wide">
          {e.roles
            .filter((r) => r !== 'General')
            .slice(0, 2)
            .map((r) => (
              <Tag key={r}>{r}</Tag>
            ))}
          {e.category && !e.roles.includes(e.category) && <span className="tiny soft">{e.category}</span>}
        </span>
        <span className="tiny soft num wide" style={{ width: '4.5rem', textAlign: 'right' }}>
          {count(e.tokens)} tok
        </span>
      </button>
    </li>
  );
});

// DataModels are the data models that a document names.
export function DataModels({ models, show }: { models: Schemas['APIModel'][]; show: (s: Spot) => void }) {
  const [q, setQ] = useState('');
  const found = models.filter((m) => matches(q, m.name, m.fields?.join(' ')));
  if (models.length === 0)
    return (
      <Panel>
        <Empty title="No data models" />
      </Panel>
    );
  return (
    <Panel
      title={counted(models.length, 'data model')}
      acts={
        <TextInput size="xs" placeholder="Find a model" aria-label="Find a model" value={q} onChange={(e) => setQ(e.currentTarget.value)} />
      }
    >
      <Scroll label="Data models" className="rows" height="32rem">
        {found.slice(0, 200).map((m) => (
          <button
            key={`${m.name} ${m.line}`}
            type="button"
            className="plainly"
            title={`Line ${m.line}`}
            onClick={() => show({ line: m.line })}
          >
            <b className="mono">{m.name}</b>
            <span className="small soft cut grow">{m.fields?.join(', ')}</span>
            <span className="tiny soft num">line {m.line}</span>
          </button>
        ))}
        {found.length > 200 && <div className="small soft">{count(found.length - 200)} more. Search by name.</div>}
      </Scroll>
    </Panel>
  );
}

export const schemeNames: Record<string, string> = {
  apiKey: 'API key',
  basic: 'user name and password',
  bearer: 'bearer token',
  oauth2: 'OAuth',
  openIdConnect: 'OpenID Connect',
};

export const whereOf = (a: Schemas['APIAuth']): string =>
  a.type === 'apiKey' ? `in the ${a.in === 'query' ? 'query parameter' : a.in} ${a.name}` : '';

// Schemes are the ways to authenticate that a document declares.
export function Schemes({ auth, all }: { auth: Schemas['APIAuth'][]; all: number }) {
  if (auth.length === 0)
    return (
      <Panel>
        <Empty title="No authentication declared">Calls are sent without credentials unless you enter some.</Empty>
      </Panel>
    );
  return (
    <Panel>
      <div className="rows">
        {auth.map((a) => (
          <div key={a.scheme}>
            <span className="grow">
              <span className="row">
                <b>{a.scheme}</b>
                <span className="small soft">
                  {schemeNames[a.type] ?? a.type} {whereOf(a)}
                </span>
              </span>
              {a.description && <span className="small soft wrap">{a.description}</span>}
              {a.token_url && <code className="tiny soft wrap">{a.token_url}</code>}
            </span>
            <span className="small soft num">{a.operations === all ? 'every operation' : counted(a.operations, 'operation')}</span>
          </div>
        ))}
      </div>
    </Panel>
  );
}
