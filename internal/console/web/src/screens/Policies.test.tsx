import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { PolicyEntry } from '../api/policies';
import { ada, instance, page, type Sent, show } from '../test/render';
import Policies from './Policies';
import PolicyPage from './PolicyPage';

const entry = (name: string, position: number, more: Partial<PolicyEntry> = {}): PolicyEntry => ({
  name,
  position,
  verdict: 'deny',
  version: 'v',
  state: 'active',
  updated_at: `2026-11-19T10:00:0${position}Z`,
  ...more,
});
const broken = {
  state: 'broken' as const,
  when: 'args.txt == "x"',
  problems: [{ rule: 'b', tool: 'demo/echo', line: 1, column: 5, message: 'the tool has no argument args.txt' }],
};
const stored = [
  entry('top', 1, { operators: true, restricted: true }),
  entry('filed', 2, { declared: '/etc/junctor.yaml' }),
  entry('a', 3, { title: 'First', target: { items: ['demo/*'] } }),
  entry('b', 4, broken),
];
const admin = { ...ada, tenant: 'acme' };
const put = (s: Sent) => ({ ...stored[2], ...(s.body as object) });
const routes = {
  'GET /me': admin,
  'GET /policies': page(stored),
  'GET /policy-templates': page([{ name: 'no-deletes', title: 'Agents delete nothing', verdict: 'deny' }]),
  'GET /metrics': { count: 1, from: '', to: '', step_seconds: 60, series: [{ first: 'a', total: { calls: 7 } }] },
  'GET /tools': page([]),
  'POST /policies/check': { problems: broken.problems },
};
const row = (name: string) => screen.getByRole('link', { name }).closest('tr') as HTMLTableRowElement;

test('rules are listed in order, with state and numbers; those of others cannot be changed', async () => {
  const { missing } = instance(routes);
  show(<Policies />);
  await screen.findByRole('link', { name: 'a' });
  const names = [...document.querySelectorAll('tbody tr')].map((r) => `${r.children[0]?.textContent} ${r.querySelector('a')?.textContent}`);
  expect(names).toEqual(['1 top', '2 filed', '3 a', '4 b']);
  await waitFor(() => expect(row('a').textContent).toContain('7'));
  expect(row('a').textContent).toContain('demo/*');
  expect(row('b').textContent).toContain('broken');
  expect(row('b').textContent).toContain('The tool has no argument args.txt');
  for (const name of ['top', 'filed']) {
    expect(within(row(name)).getByRole<HTMLInputElement>('switch').disabled, name).toBe(true);
    expect(within(row(name)).queryByRole('button'), name).toBeNull();
  }
  // Rules of the settings file come first, so the first one of one's own cannot pass them.
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Move a up' }).disabled).toBe(true);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Move b up' }).disabled).toBe(false);
  expect(screen.getByRole('link', { name: 'Use template no-deletes' }).getAttribute('href')).toBe('/policies?new=no-deletes');
  expect(missing).toEqual([]);
});

test('a rule is moved and set to audit in the version that was read', async () => {
  const { changes } = instance({ ...routes, 'PUT /policies/a': put, 'PUT /policies/b': put });
  const { user } = show(<Policies />);
  await user.click(await screen.findByRole('button', { name: 'Move b up' }));
  await waitFor(() => expect(changes()).toHaveLength(1));
  expect([changes()[0]?.path, changes()[0]?.headers.get('If-Match'), changes()[0]?.body]).toEqual([
    '/policies/b?before=a',
    '"2026-11-19T10:00:04Z"',
    { verdict: 'deny', when: 'args.txt == "x"' },
  ]);
  await waitFor(() => expect(screen.getByRole<HTMLInputElement>('switch', { name: 'Enforce a' }).disabled).toBe(false));
  await user.click(screen.getByRole('switch', { name: 'Enforce a' }));
  await waitFor(() => expect(changes()).toHaveLength(2));
  expect([changes()[1]?.path, changes()[1]?.body]).toEqual([
    '/policies/a',
    { verdict: 'deny', title: 'First', target: { items: ['demo/*'] }, mode: 'audit' },
  ]);
});

test('without rules and without the right to write some, the list says so', async () => {
  const { sent } = instance({ ...routes, 'GET /me': { ...ada, scopes: ['audit:read'] }, 'GET /policies': page([]) });
  show(<Policies />);
  await screen.findByText('No rules yet');
  expect(screen.getByText(/Admins can add rules/)).toBeTruthy();
  expect(screen.queryByRole('link', { name: 'Add a rule' })).toBeNull();
  expect(sent.filter((s) => /metrics|templates/.test(s.path))).toEqual([]);
});

test('the page of a broken rule says why, and what that means for calls', async () => {
  instance({ ...routes, 'GET /policies/b': stored[3] });
  show(<PolicyPage name="b" />);
  await screen.findByText(/The condition does not fit the tools of the target. Calls of these tools are denied./);
  expect(screen.getByText('demo/echo: The tool has no argument args.txt')).toBeTruthy();
  await screen.findByText('Fix the condition first.');
});

test('of an operator’s rule, others see neither target nor condition', async () => {
  const { changes } = instance({ ...routes, 'GET /policies/top': stored[0] });
  show(<PolicyPage name="top" />);
  await screen.findByText(/Only operators see its target and its condition/);
  expect(screen.queryByLabelText('Condition')).toBeNull();
  expect(screen.queryByRole('button', { name: 'Remove' })).toBeNull();
  expect(changes()).toEqual([]);
});
