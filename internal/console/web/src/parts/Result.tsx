import { Fragment } from 'react';
import { Link } from 'wouter';
import { ExternalLink, Tabs, Tag } from './elements';
import { Code, Json } from './Json';

type Block = Record<string, unknown>;

const text = (v: unknown): string => (typeof v === 'string' ? v : '');

// Only pictures and sounds that a browser draws without running anything.
const picture = (type: string) => /^image\/(png|jpe?g|gif|webp|avif|bmp)$/i.test(type);
const sound = (type: string) => /^audio\/[\w.+-]+$/i.test(type);
const base64 = (s: string) => /^[A-Za-z0-9+/=\s]*$/.test(s);

export function blocksOf(result: Record<string, unknown>): Block[] {
  if (Array.isArray(result.content)) return result.content as Block[];
  if (Array.isArray(result.contents)) return (result.contents as Block[]).map((resource) => ({ type: 'resource', resource }));
  if (Array.isArray(result.messages))
    return (result.messages as Block[]).flatMap((m) => [m.content ?? []].flat().map((c) => ({ ...(c as Block), role: m.role })));
  return [];
}

// Result shows what came back. All of it is somebody else's: it is drawn as
// text, as pictures and sounds of known kinds, and as links that lead to the web.
export function Result({ result, tab, choose }: { result: Record<string, unknown>; tab: string; choose: (t: string) => void }) {
  const blocks = blocksOf(result);
  const structured = result.structuredContent;
  const tabs: [string, string][] = [];
  if (blocks.length > 0) tabs.push(['content', 'Content']);
  if (structured !== undefined) tabs.push(['structured', 'Structured']);
  tabs.push(['raw', 'Raw']);
  const now = tabs.some(([k]) => k === tab) ? tab : (tabs[0]?.[0] ?? 'raw');
  return (
    <div className="stack">
      <Tabs label="View of the result" now={now} choose={choose} tabs={tabs} />
      {now === 'content' && (
        <div className="stack">
          {blocks.map((b, i) => (
            <Fragment key={i}>
              {text(b.role) && <Tag>{text(b.role)}</Tag>}
              <Content block={b} />
            </Fragment>
          ))}
        </div>
      )}
      {now === 'structured' && <Json value={structured} />}
      {now === 'raw' && <Json value={result} />}
    </div>
  );
}

export function Content({ block }: { block: Block }) {
  const mime = text(block.mimeType);
  const data = text(block.data);
  switch (block.type) {
    case 'text':
      return <Plain value={text(block.text)} />;
    case 'image':
      if (picture(mime) && base64(data)) return <img className="picture" alt="Result of the tool" src={`data:${mime};base64,${data}`} />;
      return <Json value={block} />;
    case 'audio':
      // biome-ignore lint/a11y/useMediaCaption: nobody has captions for it
      if (sound(mime) && base64(data)) return <audio controls src={`data:${mime};base64,${data}`} />;
      return <Json value={block} />;
    case 'resource_link':
      return (
        <div className="panel pad stack tight">
          <b>{text(block.title) || text(block.name)}</b>
          <ExternalLink href={text(block.uri)} />
          {/^[a-z][a-z0-9-]{0,31}\+[a-z]/.test(text(block.uri)) && (
            <Link className="link small" href={`/playground?${new URLSearchParams({ kind: 'resource', name: text(block.uri) })}`}>
              Read
            </Link>
          )}
          <span className="small soft wrap">{text(block.description)}</span>
        </div>
      );
    case 'resource': {
      const r = (block.resource ?? {}) as Block;
      const type = text(r.mimeType);
      const blob = text(r.blob);
      return (
        <div className="stack tight">
          <span className="row small">
            <code className="soft wrap">{text(r.uri)}</code> {type && <Tag>{type}</Tag>}
          </span>
          {typeof r.text === 'string' ? (
            <Plain value={r.text} />
          ) : picture(type) && base64(blob) ? (
            <img className="picture" alt={text(r.uri)} src={`data:${type};base64,${blob}`} />
          ) : sound(type) && base64(blob) ? (
            // biome-ignore lint/a11y/useMediaCaption: nobody has captions for it
            <audio controls src={`data:${type};base64,${blob}`} />
          ) : (
            <Json value={r} />
          )}
        </div>
      );
    }
    default:
      return <Json value={block} />;
  }
}

// Plain is text; where it is JSON it is shown as such.
function Plain({ value }: { value: string }) {
  const t = value.trim();
  if (/^[[{]/.test(t))
    try {
      return <Json value={JSON.parse(t)} label="Copy the text" />;
    } catch {
      // it only looks like it
    }
  return <Code label="Copy the text">{value}</Code>;
}
