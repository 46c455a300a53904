import { screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { instance, Refused, show } from '../../test/render';
import { NewUser } from './NewUser';

const limits = { tiers: { free: {}, pro: {} }, tools: {} };
const made = { id: 'u2', name: 'uma', role: 'developer', tier: 'pro', sources: 'both' };

test('a user is added with a role, a tier and a link', async () => {
  const api = instance({
    'GET /limits': limits,
    'POST /users': made,
    'POST /users/u2/link': { url: 'http://x/login?token=jcl_1', expires_at: '2030-01-01T00:00:00Z' },
  });
  const { user } = show(<NewUser close={() => {}} />);
  const add = screen.getByRole('button', { name: 'Add user' });
  expect(add).toHaveProperty('disabled', true);
  await user.type(screen.getByLabelText('Name'), '  uma ');
  await user.selectOptions(screen.getByLabelText('Role'), 'developer');
  await screen.findByRole('option', { name: 'pro' });
  await user.selectOptions(screen.getByLabelText('Tier'), 'pro');
  await user.click(add);
  await screen.findByText('http://x/login?token=jcl_1');
  expect(api.changes().map((s) => [s.path, s.body])).toEqual([
    ['/users', { name: 'uma', role: 'developer', tier: 'pro' }],
    ['/users/u2/link', undefined],
  ]);
});

test('a short password is not sent', async () => {
  const api = instance({ 'GET /limits': limits, 'POST /users': made, 'PUT /users/u2/password': undefined });
  const close = vi.fn();
  const { user } = show(<NewUser close={close} />);
  await user.type(screen.getByLabelText('Name'), 'uma');
  await user.selectOptions(screen.getByLabelText('First sign-in'), 'password');
  const password = await screen.findByLabelText('Password');
  await user.type(password, 'short');
  expect(screen.getByRole('button', { name: 'Add user' })).toHaveProperty('disabled', true);
  await user.type(password, ' but long enough now');
  await user.click(screen.getByRole('button', { name: 'Add user' }));
  await vi.waitFor(() => expect(close).toHaveBeenCalled());
  expect(api.changes().at(-1)?.body).toEqual({ password: 'short but long enough now' });
});

test('a name that is taken is said at the field, until it changes', async () => {
  instance({ 'GET /limits': limits, 'POST /users': new Refused(409, { code: 'conflict', detail: 'a user with the name uma exists' }) });
  const { user } = show(<NewUser close={() => {}} />);
  const name = screen.getByLabelText('Name');
  await user.type(name, 'uma');
  await user.click(screen.getByRole('button', { name: 'Add user' }));
  await screen.findByText('a user with the name uma exists');
  expect(name.getAttribute('aria-invalid')).toBe('true');
  await user.type(name, '2');
  expect(screen.queryByText('a user with the name uma exists')).toBeNull();
});
