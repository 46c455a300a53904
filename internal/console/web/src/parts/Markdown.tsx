import { Fragment, memo, type ReactNode, useMemo } from 'react';
import { ExternalLink, Scroll } from './elements';
import { Code } from './Json';
import { type Block, markdown, mentions, type Span } from './markdown';

// Markdown draws a text. Who of the members is named in it stands out.
export const Markdown = memo(function Markdown({ text, members = nobody }: { text: string; members?: readonly string[] }) {
  const blocks = useMemo(() => markdown(text), [text]);
  return (
    <div className="prose">
      <Blocks of={blocks} members={members} />
    </div>
  );
});

const nobody: readonly string[] = [];

interface In<T> {
  of: T[];
  members: readonly string[];
}

const Blocks = ({ of, members }: In<Block>): ReactNode =>
  of.map((b, i) => (
    <Fragment key={i}>
      <One b={b} members={members} />
    </Fragment>
  ));

function One({ b, members }: { b: Block; members: readonly string[] }) {
  switch (b.kind) {
    case 'paragraph':
      return (
        <p>
          <Spans of={b.of} members={members} />
        </p>
      );
    case 'heading':
      // A message is no chapter of the page: its headings stand outside of it.
      return (
        <p className={`title ${b.depth < 3 ? 'large' : ''}`}>
          <Spans of={b.of} members={members} />
        </p>
      );
    case 'code':
      return <Code label="Copy code">{b.text}</Code>;
    case 'quote':
      return (
        <blockquote>
          <Blocks of={b.of} members={members} />
        </blockquote>
      );
    case 'list': {
      const items = b.items.map((item, i) => (
        <li key={i}>
          {item.checked !== undefined && (
            <input type="checkbox" checked={item.checked} readOnly disabled aria-label={item.checked ? 'done' : 'open'} />
          )}
          <Blocks of={item.of} members={members} />
        </li>
      ));
      return b.start === undefined ? <ul>{items}</ul> : <ol start={b.start}>{items}</ol>;
    }
    case 'table':
      return (
        <Scroll label="A table">
          <table className="list">
            <thead>
              <tr>
                {b.head.map((c, i) => (
                  <th key={i} className={b.align[i] === 'right' ? 'right' : ''}>
                    <Spans of={c} members={members} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {b.rows.map((r, i) => (
                <tr key={i}>
                  {r.map((c, j) => (
                    <td key={j} className={b.align[j] === 'right' ? 'right num' : ''}>
                      <Spans of={c} members={members} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      );
    case 'rule':
      return <hr />;
  }
}

const Spans = ({ of, members }: In<Span>): ReactNode =>
  of.map((s, i) => {
    switch (s.kind) {
      case 'text':
        return mentions(s.text, members).map((c, j) =>
          c.mention ? (
            <b key={`${i} ${j}`} className="mention">
              {c.text}
            </b>
          ) : (
            c.text
          ),
        );
      case 'code':
        return <code key={i}>{s.text}</code>;
      case 'break':
        return <br key={i} />;
      case 'link':
        return (
          <ExternalLink key={i} href={s.href}>
            <Spans of={s.of} members={members} />
          </ExternalLink>
        );
      case 'strong':
        return (
          <strong key={i}>
            <Spans of={s.of} members={members} />
          </strong>
        );
      case 'em':
        return (
          <em key={i}>
            <Spans of={s.of} members={members} />
          </em>
        );
      default:
        return (
          <del key={i}>
            <Spans of={s.of} members={members} />
          </del>
        );
    }
  });
