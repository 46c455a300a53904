import { memo } from 'react';
import { Link } from 'wouter';
import type { Tool } from '../api/client';
import { Tag, type Tone } from '../parts/elements';
import { count } from '../parts/format';
import { Virtual } from '../parts/Virtual';

const height = 54;

export interface Hints {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

// hints are what counts of a tool, and otherwise what its server says.
export function hints(t: Pick<Tool, 'annotations'> & { hints?: Tool['hints'] }): [string, Tone][] {
  const a = (t.annotations ?? {}) as Hints;
  const out: [string, Tone][] = [];
  if (t.hints?.read_only.value ?? a.readOnlyHint) out.push(['Read-only', 'good']);
  else if (t.hints?.destructive.value ?? a.destructiveHint) out.push(['Destructive', 'bad']);
  return out;
}

export function ToolRows({ tools, server = true }: { tools: Tool[]; server?: boolean }) {
  return (
    <Virtual
      count={tools.length}
      height={height}
      label="Tools"
      row={(i) => {
        const t = tools[i];
        return t && <Row key={t.exposed} t={t} server={server} />;
      }}
    />
  );
}

// Row is drawn once, however often the list is scrolled past it.
const Row = memo(function Row({ t, server }: { t: Tool; server: boolean }) {
  return (
    <li className="line" style={{ height }}>
      <Link href={`/tools/${encodeURIComponent(t.exposed)}`} className="row plain toolrow" style={{ height: '100%', padding: '0 1rem' }}>
        <span className="grow">
          <span className="row plain">
            <span className="mono cut" style={{ fontWeight: 550 }}>
              {server ? t.exposed : t.name}
            </span>
            {hints(t)
              .filter(([, tone]) => tone === 'bad')
              .map(([name, tone]) => (
                <Tag key={name} tone={tone}>
                  {name}
                </Tag>
              ))}
          </span>
          <span className="small soft cut" style={{ display: 'block' }}>
            {t.description || t.title || 'No description'}
          </span>
        </span>
        <span className="row plain wide">
          {t.roles
            .filter((r) => r !== 'General')
            .slice(0, 2)
            .map((r) => (
              <Tag key={r}>{r}</Tag>
            ))}
        </span>
        <span
          className="tiny soft num wide"
          style={{ width: '4.5rem', textAlign: 'right' }}
          title="Approximate cost of the definition in tokens"
        >
          {count(t.tokens)} tok
        </span>
      </Link>
    </li>
  );
});
