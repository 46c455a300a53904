import { AppWindow, Camera, Clipboard, Globe, MapPin, Mic, ShieldAlert } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useApps, useVersion } from '../api/data';
import { AppView } from '../apps/AppView';
import type { App } from '../apps/api';
import { RunningApp } from '../apps/runningApp';
import { remembered } from '../apps/stage';
import { Head, Tag } from '../parts/elements';
import { FilterInput } from '../parts/FilterInput';
import { matches } from '../parts/search';
import { Empty, QueryContent } from '../parts/states';
import { useParam } from '../parts/url';

export default function Apps() {
  const apps = useApps();
  const [q, setQ] = useParam('q');
  return (
    <>
      <Head title="Apps" sub="Tools that bring their own page. Each App runs in a sandbox on its own origin." />
      <QueryContent query={apps} rows={6}>
        {(every) => {
          const all = every.filter((a) => a.visibility.includes('model')); // the rest are parts of these, for the page alone
          const found = all.filter((a) => matches(q, a.name, a.title ?? '', a.description ?? '', a.server));
          if (all.length === 0)
            return (
              <Empty icon={<AppWindow size={28} strokeWidth={1.5} aria-hidden />} title="No Apps yet">
                Tools that bring a page (MCP Apps) appear here when you add their server.
              </Empty>
            );
          return (
            <div className="stack">
              <FilterInput label="Search the Apps" placeholder="Dashboard, map, chart…" value={q} change={setQ} />
              {found.length === 0 ? (
                <Empty title="No App matches">Try other words.</Empty>
              ) : (
                <ul className="cards" aria-label="Apps">
                  {found.map((a, i) => (
                    <li key={a.name}>
                      <Card a={a} live={i < mostLive} />
                    </li>
                  ))}
                </ul>
              )}
            </div>
          );
        }}
      </QueryContent>
    </>
  );
}

const mostLive = 8;

function Card({ a, live }: { a: App; live: boolean }) {
  const progress = useMemo(() => (live ? remembered(a.name) : undefined), [a.name, live]);
  const permissions = a.permissions ?? [];
  return (
    <Link href={`/apps/${encodeURIComponent(a.name)}`} className="card app-card">
      <Poster a={a}>{progress && <Thumbnail a={a} />}</Poster>
      <span className="row">
        <h2 className="grow cut">{a.title || a.tool}</h2>
        {a.generated && <Tag title="Generated from the schema of the tool">generated</Tag>}
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
  const hue = useMemo(() => [...a.name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 360, 7), [a.name]);
  const bars = useMemo(() => Array.from({ length: 9 }, (_, i) => 20 + ((hue * (i + 3) * 7) % 60)), [hue]);
  return (
    <span className="poster" style={{ '--hue': hue } as React.CSSProperties}>
      {children || (
        <svg viewBox="0 0 160 90" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
          <rect x="16" y="14" width="128" height="62" rx="6" className="sheet" />
          <rect x="24" y="22" width="44" height="5" rx="2.5" className="line" />
          <rect x="24" y="31" width="26" height="3" rx="1.5" className="line faint" />
          {bars.map((h, i) => (
            <rect key={i} x={24 + i * 13} y={70 - h / 2} width="8" height={h / 2} rx="1.5" className="bar-of" />
          ))}
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
