import { screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { expect, test } from 'vitest';
import { instance, page, show } from '../test/render';
import { ToolPicker } from './ToolPicker';

const tool = (server: string, name: string, role = 'General') => ({
  server,
  name,
  exposed: `${server}__${name}`,
  description: `does ${name}`,
  roles: [role],
  category: role,
  digest: '00',
  tokens: 100,
});

function Picker({ first = [], work = 'General' }: { first?: string[]; work?: string }) {
  const [grants, change] = useState(first);
  return (
    <>
      <ToolPicker role={work} grants={grants} change={change} />
      <output aria-label="grants">{grants.join(' ')}</output>
    </>
  );
}
const grants = () => screen.getByLabelText('grants').textContent;

test('tools and whole servers are chosen, and their cost is shown', async () => {
  instance({ 'GET /tools': page([tool('shop', 'buy'), tool('shop', 'sell'), tool('wiki', 'read')]) });
  const { user } = show(<Picker />);
  await user.click(await screen.findByLabelText('shop__buy'));
  expect(grants()).toBe('shop/buy');
  expect(screen.getByText(/1 selected · about 100 of/)).toBeTruthy();
  await user.click(screen.getByLabelText('All (incl. future) of shop'));
  expect(grants()).toBe('shop/*');
  expect(screen.getByText(/2 selected · about 200 of/)).toBeTruthy();
  // Taking one away leaves the others, each by its name.
  await user.click(screen.getByLabelText('shop__sell'));
  expect(grants()).toBe('shop/buy');
});

test('tools of other roles are left out until they are asked for', async () => {
  instance({ 'GET /tools': page([tool('shop', 'buy', 'Sales'), tool('shop', 'audit', 'Finance')]) });
  const { user } = show(<Picker work="Sales" />);
  await screen.findByLabelText('shop__buy');
  expect(screen.queryByLabelText('shop__audit')).toBeNull();
  await user.click(screen.getByLabelText('Suggested for its role'));
  expect(screen.getByLabelText('shop__audit')).toBeTruthy();
  await user.type(screen.getByLabelText('Find tools'), 'nothing');
  await screen.findByText('No tool matches');
});

test('of 5,000 tools only those in sight are drawn', async () => {
  const all = Array.from({ length: 5000 }, (_, i) => tool('many', `t${String(i).padStart(4, '0')}`));
  const { sent } = instance({ 'GET /tools': page(all) });
  const { container, user } = show(<Picker />);
  await screen.findByLabelText('many__t0000');
  expect(container.querySelectorAll('*').length).toBeLessThan(1500);
  expect(sent[0]?.path).toContain('schemas=false');
  await user.type(screen.getByLabelText('Find tools'), 't4999');
  await waitFor(() => expect(screen.getByLabelText('many__t4999')).toBeTruthy());
});
