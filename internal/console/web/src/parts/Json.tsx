import type { ReactNode } from 'react';
import { Copy } from './elements';

// Json shows a value with its parts told apart. It is drawn as text: nothing in
// it can become markup.
export function Json({ value, label = 'Copy JSON' }: { value: unknown; label?: string }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="json" tabIndex={0}>
        {text.length > most ? text : paint(text)}
      </pre>
      <div className="acts">
        <Copy value={text} label={label} />
      </div>
    </div>
  );
}

// Code shows text as it is.
export function Code({ children, label = 'Copy' }: { children: string; label?: string }) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{children}</pre>
      <div className="acts">
        <Copy value={children} label={label} />
      </div>
    </div>
  );
}

const most = 60_000;
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/g;

function paint(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let at = 0;
  for (const m of text.matchAll(token)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    if (m[1] !== undefined) {
      out.push(
        <span key={m.index} className={m[2] ? 'k' : 's'}>
          {m[1]}
        </span>,
      );
      if (m[2]) out.push(m[2]);
    } else
      out.push(
        <span key={m.index} className="n">
          {m[0]}
        </span>,
      );
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}
