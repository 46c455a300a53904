import { screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { ada, instance, page, show } from '../test/render';
import { KeyList } from './KeyList';

const key = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  name: `key ${id}`,
  scopes: ['tools:read'],
  created_at: '2026-01-01T00:00:00Z',
  prefix: `jct_${id}`,
  ...more,
});

const routes = (keys: unknown[]) => ({
  'GET /me': ada,
  'GET /keys': page(keys),
  'GET /users': page([]),
  'GET /agents': page([]),
  'GET /limits': { tiers: {} },
});

test('keys have their owner and state, and revoked ones no actions', async () => {
  instance(routes([key('a', { agent: 'bot' }), key('b'), key('c', { revoked_at: '2026-02-01T00:00:00Z' })]));
  show(<KeyList />);
  const row = async (name: string) => (await screen.findByRole('link', { name })).closest('tr') as HTMLElement;
  expect(within(await row('key a')).getByText('bot')).toBeTruthy();
  expect(within(await row('key b')).getByText('service')).toBeTruthy();
  expect(within(await row('key c')).getByText('revoked')).toBeTruthy();
  expect(within(await row('key b')).getByRole('button', { name: 'Actions for key b' })).toBeTruthy();
  expect(within(await row('key c')).queryByRole('button')).toBeNull();
});

test('the server sorts the list', async () => {
  const api = instance(routes([key('a')]));
  const { user } = show(<KeyList />);
  await screen.findByRole('link', { name: 'key a' });
  await user.click(screen.getByRole('button', { name: /Expires/ }));
  await user.click(screen.getByRole('button', { name: /Expires/ }));
  await screen.findByRole('link', { name: 'key a' });
  const sorts = api.sent.map((s) => new URLSearchParams(s.path.split('?')[1]).get('sort')).filter(Boolean);
  expect([...new Set(sorts)]).toEqual(['-created_at', 'expires_at', '-expires_at']);
  expect(screen.getByRole('columnheader', { name: /Expires/ }).getAttribute('aria-sort')).toBe('descending');
});

test('a key has the chosen scopes and expiry, and is shown once', async () => {
  const api = instance({ ...routes([]), 'POST /keys': { key: 'jct_secret', id: 'n' } });
  const { user } = show(<KeyList />);
  await screen.findByText('No keys');
  await user.click(screen.getByRole('button', { name: 'Create a key' }));
  const dialog = within(await screen.findByRole('dialog'));
  await user.type(dialog.getByLabelText('Purpose'), 'ci');
  await user.selectOptions(dialog.getByLabelText('Owner'), 'service');
  await user.click(dialog.getByLabelText(/^audit:read/));
  await user.click(dialog.getByLabelText(/^tools:call/));
  await user.selectOptions(dialog.getByLabelText('Expires'), '7');
  await user.click(dialog.getByRole('button', { name: 'Create key' }));
  await screen.findByText('jct_secret');
  const body = api.changes()[0]?.body as { name: string; scopes: string[]; expires_at: string; user?: string };
  expect([body.name, body.scopes.sort(), body.user]).toEqual(['ci', ['audit:read', 'tools:read'], undefined]);
  const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThan(7.1);
});
