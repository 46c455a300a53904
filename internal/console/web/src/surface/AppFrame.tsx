import { useMemo } from 'react';
import { useVersion } from '../api/data';
import { AppView } from '../apps/AppView';
import { Running } from '../apps/running';
import { isRecord } from './data';
import { type Place, useProps } from './stage';
import { resolve, type World } from './values';

// AppFrame shows the App of a tool of one of this instance's servers, with the
// arguments that the surface gives it. It is opened as the agent: what that may
// not see does not open.
export function AppFrame({ b }: Place) {
  const { text, stage, world } = useProps(b);
  const version = useVersion().data?.version ?? '';
  const server = text('server') || serverAt(text('mcpEndpointUrl'));
  const tool = text('toolName');
  const input = JSON.stringify(members(b.of.toolInput, world));
  const running = useMemo(
    () =>
      version && tool && server
        ? new Running({ tool, server, agent: stage.agent }, { input: JSON.parse(input) as Record<string, unknown> }, { version })
        : undefined,
    [version, tool, server, stage.agent, input],
  );
  if (!server || !tool) return <p className="small soft">The App is on no server of this instance.</p>;
  return running ? <AppView running={running} title={tool} /> : null;
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
