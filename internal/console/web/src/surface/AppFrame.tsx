import { Button } from '@mantine/core';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useMe, useVersion } from '../api/data';
import { can } from '../app/permissions';
import { AppView, useSnapshot } from '../apps/AppView';
import type { Opening } from '../apps/api';
import { RunningApp } from '../apps/runningApp';
import type { Snapshot } from '../apps/state';
import { isRecord } from './data';
import { isOver, patience, reasonOf, showsApp } from './shown';
import { type Place, useProps } from './stage';
import { resolve, type World } from './values';

// AppFrame shows the App of a tool of one of this instance's servers, with the
// arguments that the surface gives it. It is opened as the agent: what that may
// not see does not open. Where the surface names a fallback, that is shown unless
// the App is approved, has begun in time and goes on.
export function AppFrame({ b }: Place) {
  const { text, stage, world } = useProps(b);
  const version = useVersion().data?.version ?? '';
  const server = text('server') || serverAt(text('mcpEndpointUrl'));
  const tool = text('toolName');
  const input = JSON.stringify(members(b.of.toolInput, world));
  const there = server !== '' && tool !== '';
  const fallback = b.fallback && stage.draw(b.fallback);
  if (!there) return fallback ?? <p className="small soft">The server of this App was not found.</p>;
  if (!version) return fallback ?? null;
  const app = { tool, server, agent: stage.agent, input, version };
  const key = [tool, server, stage.agent, input].join('\n');
  return fallback ? <Either key={key} app={app} fallback={fallback} /> : <Alone key={key} app={app} />;
}

interface Shown extends Opening {
  input: string; // as JSON
  version: string;
}

const runningOf = ({ input, version, ...opening }: Shown, settings = {}) =>
  new RunningApp(opening, { input: JSON.parse(input) as Record<string, unknown> }, { version, ...settings });

function Alone({ app }: { app: Shown }) {
  const [running] = useState(() => runningOf(app));
  return <AppView running={running} title={app.tool} />;
}

// Either shows an App, or what stands for it. The App is tried once by itself;
// afterwards somebody may ask for it, and then it has all the time it needs.
function Either({ app, fallback }: { app: Shown; fallback: ReactNode }) {
  const me = useMe().data;
  const [attempt, setAttempt] = useState<'first' | 'asked' | 'none'>('first');
  const [seen, setSeen] = useState<Pick<Snapshot, 'state' | 'error' | 'unapproved'>>({ state: 'opening' });
  const asked = attempt === 'asked';
  const shown = attempt !== 'none' && showsApp(seen, asked);
  const look = useCallback((s: Snapshot) => {
    setSeen(s);
    if (isOver(s)) setAttempt('none');
  }, []);
  const why = reasonOf(seen);
  return (
    <div className="sf-app" data-shown={shown ? 'app' : 'fallback'}>
      {attempt !== 'none' && (
        <div className={shown ? undefined : 'sf-behind'} inert={!shown} aria-hidden={!shown}>
          <Attempt key={attempt} app={app} asked={asked} look={look} />
        </div>
      )}
      {!shown && fallback}
      {attempt === 'none' && (
        <p className="sf-app-note small soft">
          {seen.unapproved ? (
            can(me, 'admin') && (
              <>
                The App {app.tool} of {app.server} is not approved:{' '}
                <Link className="link" href="/apps">
                  review it under Apps
                </Link>
                .
              </>
            )
          ) : (
            <>
              {why && `The App ${app.tool} of ${app.server} is not shown: ${why.charAt(0).toLowerCase()}${why.slice(1)} `}
              <Button
                size="compact-xs"
                variant="subtle"
                onClick={() => {
                  setSeen({ state: 'opening' });
                  setAttempt('asked');
                }}
              >
                Open the App {app.tool}
              </Button>
            </>
          )}
        </p>
      )}
    </div>
  );
}

// Attempt is one start of the App. It tells what comes of it.
function Attempt({ app, asked, look }: { app: Shown; asked: boolean; look: (s: Snapshot) => void }) {
  const [running] = useState(() => runningOf(app, asked ? {} : { approvedOnly: true, within: patience }));
  const s = useSnapshot(running);
  useEffect(() => look(s), [s, look]);
  return <AppView running={running} title={app.tool} />;
}

// serverAt is the server that an address of this instance leads to.
function serverAt(url: string): string {
  try {
    const path = new URL(url, location.origin).pathname;
    return decodeURIComponent(/^\/mcp\/s\/([^/]+)\/?$/.exec(path)?.[1] ?? '');
  } catch {
    return '';
  }
}

function members(v: unknown, world: World): Record<string, unknown> {
  const whole = resolve(v, world);
  if (!isRecord(whole)) return {};
  return Object.fromEntries(Object.entries(whole).map(([k, m]) => [k, resolve(m, world)]));
}
