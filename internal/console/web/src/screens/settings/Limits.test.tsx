import { screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { ada, instance, show } from '../../test/render';
import { Limits } from './Limits';

const stored = {
  updated_at: '2026-01-01T00:00:00Z',
  tiers: { free: { per_second: 5, per_day: 100 } },
  tools: { 'shop/buy': { concurrent: 2, over_limit: 'queue' } },
};

test('the table has tiers and tools, and only admins change them', async () => {
  instance({ 'GET /me': { ...ada, scopes: ['tools:read'] }, 'GET /limits': stored });
  show(<Limits />);
  const tool = (await screen.findByText('shop/buy')).closest('tr') as HTMLElement;
  expect(within(tool).getByText('wait')).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Edit' })).toBeNull();
});

test('a limit that is emptied is removed, and the others stay', async () => {
  const api = instance({ 'GET /me': ada, 'GET /limits': stored, 'PATCH /limits': stored });
  const { user } = show(<Limits />);
  const row = (await screen.findByText('free')).closest('tr') as HTMLElement;
  await user.click(within(row).getByRole('button', { name: 'Edit' }));
  const field = await screen.findByLabelText('Calls per day');
  expect(field).toHaveProperty('value', '100');
  await user.clear(field);
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(api.changes()).toHaveLength(1);
  expect(api.changes()[0]?.body).toEqual({ tiers: { free: { per_second: 5, per_day: 0 } } });
  expect(api.changes()[0]?.headers.get('If-Match')).toBe('"2026-01-01T00:00:00Z"');
});
