import { Loader } from '@mantine/core';
import { Check, Minus, X } from 'lucide-react';
import { Tag } from '../../parts/elements';
import { bytes, count, span } from '../../parts/format';
import type { Reading } from './reading';

const steps: [string, string][] = [
  ['fetch', 'Fetch the document'],
  ['read', 'Recognize the format'],
  ['tools', 'Convert operations to tools'],
  ['preview', 'Classify the tools'],
];

export const formats: Record<string, string> = {
  openapi: 'OpenAPI',
  swagger: 'Swagger 2.0',
  graphql: 'GraphQL schema',
  'graphql-introspection': 'GraphQL introspection',
  postman: 'Postman collection',
  har: 'HAR recording',
  curl: 'curl commands',
  'api-blueprint': 'API Blueprint',
  markdown: 'Markdown',
  html: 'HTML page',
  table: 'Table',
};

// Readers shows how far the reading of a document is, and how each reader fared
// with it.
export function Readers({ reading }: { reading: Reading }) {
  const { preview, passed, busy, text } = reading;
  const took = preview?.tried.some((t) => t.took) ?? false;
  const done = (key: string) => passed.some((p) => p.step === key);
  const next = busy ? steps.find(([key]) => !done(key))?.[0] : undefined;
  return (
    <div className="stack">
      <ol className="steps" aria-live="polite" aria-busy={busy}>
        {steps.map(([key, name], i) => {
          const broke = preview !== null && !took && key === 'read';
          const skipped = preview !== null && !took && !broke && key !== 'fetch';
          const ok = done(key) && !broke && !skipped;
          const at = passed.find((p) => p.step === key)?.elapsed_ns;
          return (
            <li key={key}>
              <span className={`mark ${ok ? 'done' : broke ? 'bad' : ''}`}>
                {ok ? (
                  <Check size={12} strokeWidth={3} />
                ) : broke ? (
                  <X size={12} strokeWidth={3} />
                ) : next === key ? (
                  <Loader size={10} />
                ) : (
                  i + 1
                )}
              </span>
              <span className={`grow ${ok || broke || next === key ? '' : 'soft'}`}>
                {broke ? 'Format not recognized' : name}
                {key === 'fetch' && ok && <span className="soft"> · {bytes(text.length)}</span>}
                {key === 'tools' && ok && preview && <span className="soft"> · {count(preview.endpoints.length)}</span>}
              </span>
              {ok && at !== undefined && <span className="tiny soft num">{span(at)}</span>}
            </li>
          );
        })}
      </ol>
      {preview && preview.tried.length > 0 && (
        <details open={!took}>
          <summary className="small soft">{tried(preview.tried.length)}</summary>
          <ul className="plainlist" aria-label="Tried readers" style={{ marginTop: '0.5rem' }}>
            {preview.tried.map((t, i) => (
              <li key={i} className="row plain" style={{ alignItems: 'flex-start' }}>
                {t.took ? (
                  <Check size={14} color="var(--good)" aria-label="accepted" />
                ) : (
                  <Minus size={14} color="var(--soft)" aria-label="rejected" />
                )}
                <span className="grow small">
                  <b>{formats[t.format] ?? t.format}</b> <span className="soft wrap">{t.took ? 'accepted' : t.reason}</span>
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {preview && took && (
        <div className="row">
          <Tag tone="good">
            {formats[preview.format] ?? preview.format} {preview.version}
          </Tag>
          {preview.title && <span className="small">{preview.title}</span>}
          {preview.edition && <span className="small soft">{preview.edition}</span>}
        </div>
      )}
    </div>
  );
}

const tried = (n: number) => (n === 1 ? '1 reader tried' : `${n} readers tried`);
