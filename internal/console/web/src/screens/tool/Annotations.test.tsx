import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { Tool } from '../../api/client';
import { ada, instance, type Sent, show } from '../../test/render';
import { Annotations } from './Annotations';

const tool = {
  server: 'shop',
  name: 'pay',
  exposed: 'shop__pay',
  roles: [],
  category: '',
  digest: '',
  tokens: 1,
  tags: ['money'],
  hints: {
    read_only: { value: false, origin: 'operator' },
    destructive: { value: true, origin: 'server' },
    idempotent: { origin: 'unknown' },
    open_world: { origin: 'unknown' },
  },
} as Tool;
const shop = {
  id: 'shop',
  updated_at: '2026-11-19T10:00:00Z',
  overrides: { pay: { read_only: false, tags: ['money'] }, list: { hide: true } },
};

test('annotations are shown with their origin, and an admin states them beside the other overrides', async () => {
  const { changes } = instance({
    'GET /me': ada,
    'GET /servers/shop': shop,
    'PATCH /servers/shop': (s: Sent) => ({ ...shop, ...(s.body as object) }),
  });
  const { user, container } = show(<Annotations t={tool} />);
  expect([...container.querySelectorAll('dd')].map((d) => d.textContent)).toEqual([
    'No: can change somethingoperator',
    'Yes: can delete or overwriteserver',
    'Unknown',
    'Unknown',
    'moneyoperator',
  ]);
  await user.selectOptions(await screen.findByLabelText('Idempotent'), 'yes');
  await user.selectOptions(screen.getByLabelText('Read-only'), '');
  await user.type(screen.getByLabelText('Tags'), ', eu');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(changes()).toHaveLength(1));
  expect(changes()[0]?.body).toEqual({ overrides: { list: { hide: true }, pay: { idempotent: true, tags: ['money', 'eu'] } } });
  expect(changes()[0]?.headers.get('If-Match')).toBe('"2026-11-19T10:00:00Z"');
});

test('those who are no admins only read annotations', async () => {
  const { sent, missing } = instance({ 'GET /me': { ...ada, scopes: ['tools:read'] } });
  show(<Annotations t={tool} />);
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(screen.queryByText('Set annotations')).toBeNull();
  expect(missing).toEqual([]);
});
