import { ActionIcon } from '@mantine/core';
import { Check, Copy as CopyIcon } from 'lucide-react';
import { Fragment, type MouseEvent, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Link } from 'wouter';
import { statusName } from './calls';
import { absolute, ago } from './format';
import { setTitle } from './title';

export function Copy({ value, label = 'Copy' }: { value: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1200);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (e: MouseEvent) => {
    e.stopPropagation();
    e.preventDefault();
    void navigator.clipboard.writeText(value).then(() => setDone(true));
  };
  return (
    <ActionIcon size="sm" aria-label={label} title={done ? 'Copied' : label} onClick={copy}>
      {done ? <Check size={14} color="var(--good)" /> : <CopyIcon size={14} />}
    </ActionIcon>
  );
}

// One clock for all times on a page.
const watchers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;
let tick = Date.now();
function watch(f: () => void) {
  watchers.add(f);
  ticking ??= setInterval(() => {
    tick = Date.now();
    for (const w of watchers) w();
  }, 5_000);
  return () => {
    watchers.delete(f);
    if (watchers.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

export function Ago({ at }: { at: string | undefined }) {
  const now = useSyncExternalStore(watch, () => tick);
  if (!at || at.startsWith('0001-')) return <span className="soft">never</span>;
  const then = new Date(at);
  return (
    <time dateTime={at} title={absolute(then)} className="num" style={{ whiteSpace: 'nowrap' }}>
      {ago(then, new Date(Math.max(now, Date.now())))}
    </time>
  );
}

export type Tone = '' | 'good' | 'warn' | 'bad' | 'act';

export const Tag = ({ tone = '', children, title }: { tone?: Tone; children: ReactNode; title?: string }) => (
  <span className={`tag ${tone}`} title={title}>
    {children}
  </span>
);

const states: Record<string, [string, string]> = {
  active: ['good', 'active'],
  inactive: ['off', 'disabled'],
  error: ['bad', 'failing'],
};

export function State({ state }: { state: string }) {
  const [dot, name] = states[state] ?? ['', state];
  return (
    <span className="row plain" style={{ gap: '0.4375rem', whiteSpace: 'nowrap' }}>
      <span className={`dot ${dot}`} /> {name}
    </span>
  );
}

const tones: Record<string, Tone> = {
  success: 'good',
  running: 'act',
  error: 'bad',
  timeout: 'bad',
  denied: 'warn',
  limited: 'warn',
  invalid: 'warn',
};

export const Status = ({ status }: { status: string }) => <Tag tone={tones[status] ?? ''}>{statusName(status)}</Tag>;

export function Head({
  title,
  sub,
  crumbs,
  children,
}: {
  title: ReactNode;
  sub?: ReactNode;
  crumbs?: [string, string][];
  children?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const list = crumbs?.at(-1)?.[0];
  // The title of the tab names what the heading names, whatever the heading consists of.
  useEffect(() => setTitle(heading.current?.textContent ?? '', list));
  return (
    <div className="head">
      <div className="what">
        {crumbs && (
          <nav className="crumbs" aria-label="Breadcrumbs">
            {crumbs.map(([name, to]) => (
              <Fragment key={to}>
                <Link href={to}>{name}</Link>
                <span>/</span>
              </Fragment>
            ))}
          </nav>
        )}
        <h1 ref={heading}>{title}</h1>
        {sub && <p className="sub">{sub}</p>}
      </div>
      {children && <div className="acts">{children}</div>}
    </div>
  );
}

export function Panel({ title, acts, children, pad = false }: { title?: ReactNode; acts?: ReactNode; children: ReactNode; pad?: boolean }) {
  return (
    <section className="panel">
      {title && (
        <header>
          <h2>{title}</h2>
          {acts}
        </header>
      )}
      {pad ? <div className="pad">{children}</div> : children}
    </section>
  );
}

export function Tabs({
  now,
  choose,
  tabs,
  label,
}: {
  now: string;
  choose: (t: string) => void;
  tabs: [string, ReactNode][];
  label: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  // Where they do not all fit, the chosen one is in view.
  useEffect(() => {
    if (now) list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [now]);
  return (
    <div ref={list} className="tabs" role="tablist" aria-label={label}>
      {tabs.map(([key, name]) => (
        <button key={key} type="button" role="tab" aria-selected={now === key} onClick={() => choose(key)}>
          {name}
        </button>
      ))}
    </div>
  );
}

// ExternalLink is a link that leads elsewhere, where its address is one that a browser
// may be sent to; anything else is shown as the text it is.
export function ExternalLink({ href, children }: { href: string; children?: ReactNode }) {
  if (!/^https?:\/\//i.test(href)) return <code className="wrap">{href}</code>;
  return (
    <a className="link wrap" href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children ?? href}
    </a>
  );
}

// Scroll is a part that scrolls by itself, by keyboard too.
export function Scroll({
  label,
  className = 'scroll',
  height,
  children,
}: {
  label: string;
  className?: string;
  height?: string;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={className} aria-label={label} tabIndex={0} style={height ? { maxHeight: height, overflowY: 'auto' } : undefined}>
      {children}
    </section>
  );
}
