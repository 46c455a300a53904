import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { Agent } from '../../api/client';
import { instance, page, Refused, show } from '../../test/render';
import { AgentDetails } from './AgentDetails';

const agent = {
  name: 'bot',
  title: 'Tester',
  role: 'QA',
  tier: '',
  exposure: '',
  tools: [],
  resources: [],
  prompts: [],
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-02T00:00:00Z',
} as unknown as Agent;

const routes = { 'GET /roles': page([{ name: 'QA' }, { name: 'Sales' }]), 'GET /limits': { tiers: { free: {} } } };

test('title and role are changed, from the version that was read', async () => {
  const api = instance({ ...routes, 'PATCH /agents/bot': { ...agent, title: 'Tester 2', role: 'Sales' } });
  const { user } = show(<AgentDetails a={agent} may />);
  expect(screen.getByRole('button', { name: 'Save' })).toHaveProperty('disabled', true);
  await user.type(screen.getByLabelText('Title'), ' 2');
  await screen.findByRole('option', { name: 'Sales' });
  await user.selectOptions(screen.getByLabelText('Role'), 'Sales');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(api.changes()[0]?.body).toMatchObject({ title: 'Tester 2', role: 'Sales' });
  expect(api.changes()[0]?.headers.get('If-Match')).toBe('"2026-01-02T00:00:00Z"');
});

test('a change of somebody else is shown, not overwritten', async () => {
  const theirs = { ...agent, title: 'Title of eve', updated_at: '2026-01-03T00:00:00Z' };
  instance({
    ...routes,
    'PATCH /agents/bot': new Refused(412, { code: 'precondition', detail: 'changed', current: theirs, changed_by: 'eve' }),
  });
  const { user } = show(<AgentDetails a={agent} may />);
  await user.type(screen.getByLabelText('Title'), ' 2');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await screen.findByText('Title of eve');
  expect(screen.getByRole('button', { name: 'Merge and save' })).toBeTruthy();
});

test('who may not change an agent has no button', () => {
  instance(routes);
  show(<AgentDetails a={agent} may={false} />);
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
  expect(screen.getByLabelText('Title')).toHaveProperty('disabled', true);
});
