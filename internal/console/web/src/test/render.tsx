import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { ReactNode } from 'react';
import { vi } from 'vitest';
import { theme } from '../theme';

// Sent is a request that a component made.
export interface Sent {
  method: string;
  path: string; // below /api/v1, with the query
  body: unknown;
  headers: Headers;
}

// Reply is what an instance answers: a status other than 200 with a problem as its body.
export type Reply = unknown | ((sent: Sent) => unknown);
export class Refused {
  readonly status: number;
  readonly problem: Record<string, unknown>;
  constructor(status: number, problem: Record<string, unknown>) {
    this.status = status;
    this.problem = problem;
  }
}

// instance answers the requests of a component. Routes are named "GET /path", without the
// query; a request without a route fails the test that made it.
export function instance(routes: Record<string, Reply>) {
  const sent: Sent[] = [];
  const missing: string[] = [];
  const fetched = async (url: string, init: RequestInit = {}) => {
    const method = init.method ?? 'GET';
    const path = String(url).replace('/api/v1', '');
    const one: Sent = { method, path, body: init.body ? JSON.parse(String(init.body)) : undefined, headers: new Headers(init.headers) };
    sent.push(one);
    const name = `${method} ${path.split('?')[0]}`;
    if (!(name in routes)) {
      missing.push(name);
      return new Response(JSON.stringify({ code: 'not_found', detail: `no route ${name}`, status: 404 }), { status: 404 });
    }
    const route = routes[name];
    const answer = typeof route === 'function' ? route(one) : route;
    if (answer instanceof Refused)
      return new Response(JSON.stringify({ status: answer.status, ...answer.problem }), { status: answer.status });
    return answer === undefined ? new Response(null, { status: 204 }) : new Response(JSON.stringify(answer), { status: 200 });
  };
  vi.stubGlobal('fetch', fetched);
  return {
    missing,
    sent,
    // changes are the requests that change something.
    changes: () => sent.filter((s) => s.method !== 'GET'),
  };
}

// page is a list as the API answers it.
export const page = <T,>(items: T[], more: Record<string, unknown> = {}) => ({ items, total: items.length, ...more });

// show draws a component as the console does, and gives a user who can act on it.
export function show(element: ReactNode) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const view = render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={client}>{element}</QueryClientProvider>
    </MantineProvider>,
  );
  return { ...view, client, user: userEvent.setup() };
}

// ada is an admin, who is signed in.
export const ada = {
  subject: 'u1',
  issuer: 'user',
  tenant: 'default',
  name: 'ada',
  user: 'u1',
  scopes: ['admin', 'tools:read', 'tools:call', 'servers:write', 'agents:write', 'keys:write', 'audit:read', 'events:send'],
  person: { id: 'u1', name: 'ada', role: 'admin', tier: 'free', sources: 'both' },
};
