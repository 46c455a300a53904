import { SegmentedControl } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { AppWindow, Camera, Clipboard, Globe, MapPin, Mic, ShieldAlert } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useVersion } from '../api/data';
import { useListPages, useTotal } from '../api/lists';
import { AppView } from '../apps/AppView';
import type { App } from '../apps/api';
import { RunningApp } from '../apps/runningApp';
import { remembered } from '../apps/stage';
import { Head, Panel, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { count } from '../parts/format';
import { NextPage } from '../parts/NextPage';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';
import { Virtual } from '../parts/Virtual';

// Tools that are only for pages are parts of Apps and not listed.
const listed = { visibility: 'model' };

// Apps has the Apps of servers as cards. Views that Junctor generated may be as many as
// there are tools: they are a list of their own.
export default function Apps() {
  const [origin, setOrigin] = useParam('origin', 'server');
  const [q, setQ] = useParam('q');
  const [text] = useDebouncedValue(q, 150);
  const apps = useListPages<App>('/apps', { ...listed, origin, q: text });
  const own = useTotal('/apps', { ...listed, origin: 'server' });
  const generated = useTotal('/apps', { ...listed, origin: 'generated' });
  const all = origin === 'generated' ? generated.data : own.data;
  const labelled = (name: string, total: number | undefined) => `${name}${total === undefined ? '' : ` ${count(total)}`}`;
  return (
    <>
      <Head title="Apps" sub="Tools that bring their own page. Each App runs in a sandbox on its own origin." />
      <div className="stack">
        <div className="row">
          <FilterInput label="Search the Apps" placeholder="Dashboard, map, chart…" minWidth="14rem" value={q} change={setQ} />
          <SegmentedControl
            aria-label="Origin of the pages"
            value={origin}
            onChange={setOrigin}
            data={[
              { value: 'server', label: labelled('From servers', own.data) },
              { value: 'generated', label: labelled('Generated views', generated.data) },
            ]}
          />
        </div>
        <QueryContent query={apps} rows={6}>
          {() =>
            apps.total > 0 ? (
              origin === 'generated' ? (
                <Panel>
                  <Generated apps={apps.all ?? []} />
                </Panel>
              ) : (
                <ul className="cards" aria-label="Apps">
                  {apps.all?.map((a, i) => (
                    <li key={a.name}>
                      <Card a={a} live={i < mostLive} />
                    </li>
                  ))}
                </ul>
              )
            ) : all ? (
              <Empty title="No App matches">Try other words.</Empty>
            ) : origin === 'generated' ? (
              <Empty title="No generated views">
                Generated views are made from the schema of a tool. A server’s settings switch them on.
              </Empty>
            ) : (
              <Empty icon={<AppWindow size={28} strokeWidth={1.5} aria-hidden />} title="No Apps yet">
                Tools that bring a page (MCP Apps) appear here when you add their server.
              </Empty>
            )
          }
        </QueryContent>
        <NextPage pages={apps} near={origin === 'generated'} />
      </div>
    </>
  );
}

const mostLive = 8;

const height = 54;

const Generated = ({ apps }: { apps: readonly App[] }) => (
  <Virtual
    count={apps.length}
    height={height}
    label="Apps"
    row={(i) => {
      const a = apps[i];
      return (
        a && (
          <li key={a.name} className="line" style={{ height }}>
            <Link href={`/apps/${encodeURIComponent(a.name)}`} className="row plain toolrow" style={{ height: '100%', padding: '0 1rem' }}>
              <span className="grow">
                <span className="mono cut" style={{ display: 'block', fontWeight: 550 }}>
                  {a.name}
                </span>
                <span className="small soft cut" style={{ display: 'block' }}>
                  {a.description || a.title || 'No description'}
                </span>
              </span>
            </Link>
          </li>
        )
      );
    }}
  />
);

function Card({ a, live }: { a: App; live: boolean }) {
  const progress = useMemo(() => (live ? remembered(a.name) : undefined), [a.name, live]);
  const permissions = a.permissions ?? [];
  return (
    <Link href={`/apps/${encodeURIComponent(a.name)}`} className="card app-card">
      <Poster a={a}>{progress && <Thumbnail a={a} />}</Poster>
      <span className="row">
        <h2 className="grow cut">{a.title || a.tool}</h2>
        {a.approval.state === 'changed' && (
          <Tag tone="warn" title="The page changed since it was approved">
            <ShieldAlert size={11} aria-hidden /> changed
          </Tag>
        )}
      </span>
      <span className="small soft clamp">{a.description}</span>
      <span className="row tiny soft">
        <span className="mono cut">{a.name}</span>
        {permissions.map((p) => {
          const Icon = icons[p] ?? Globe;
          return <Icon key={p} size={12} aria-label={`requires: ${p}`} />;
        })}
      </span>
    </Link>
  );
}

const icons: Record<string, typeof Camera> = { camera: Camera, microphone: Mic, geolocation: MapPin, clipboardWrite: Clipboard };

// Poster stands for an App that was not looked at yet: its name decides how it
// looks, so that it is known again.
function Poster({ a, children }: { a: App; children: React.ReactNode }) {
  const [hue, bars] = useMemo(() => {
    const hue = [...a.name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 360, 7);
    const heights = Array.from({ length: 9 }, (_, i) => 10 + ((hue * (i + 3) * 7) % 60) / 2);
    return [hue, heights.map((h, i) => `M${24 + i * 13} ${70 - h}h8v${h}h-8z`).join('')] as const;
  }, [a.name]);
  return (
    <span className="poster" style={{ '--hue': hue } as React.CSSProperties}>
      {children || (
        <svg viewBox="0 0 160 90" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
          <rect x="16" y="14" width="128" height="62" rx="6" className="sheet" />
          <path d="M24 22h44v5h-44zM24 31h26v3h-26z" className="line" />
          <path d={bars} className="bar-of" />
        </svg>
      )}
    </span>
  );
}

// Thumbnail is the App itself, as it was when it was last used in this tab. It
// is there while the card is in sight, and calls nothing.
function Thumbnail({ a }: { a: App }) {
  const place = useRef<HTMLSpanElement>(null);
  const version = useVersion().data?.version ?? '';
  const [running, setRunning] = useState<RunningApp>();
  useEffect(() => {
    const el = place.current;
    if (!el || !version) return;
    const seen = new IntersectionObserver(([e]) => {
      const progress = remembered(a.name);
      setRunning((now) =>
        e?.isIntersecting && progress
          ? (now ?? new RunningApp({ tool: a.name }, progress, { version, small: true, off: ['serverTools', 'serverResources'] }))
          : undefined,
      );
    });
    seen.observe(el);
    return () => seen.disconnect();
  }, [a.name, version]);
  return (
    <span ref={place} className="thumb" inert>
      {running && <AppView running={running} title={a.title || a.tool} small />}
    </span>
  );
}
