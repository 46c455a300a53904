import { screen, waitFor, within } from '@testing-library/react';
import { beforeEach, expect, test } from 'vitest';
import { instance, page, show } from '../../test/render';
import { Arguments } from './Arguments';
import { Comparison } from './Comparison';
import { RunHistory } from './RunHistory';
import type { PastRun, Target } from './run';
import { TargetChooser } from './TargetChooser';

const add: Target = {
  kind: 'tool',
  name: 'demo__add',
  server: '',
  title: '',
  about: 'adds',
  schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
};

beforeEach(() => instance({}));

test('form and JSON are one, and what does not fit cannot be called', async () => {
  const { user } = show(<Arguments target={add} />);
  const call = screen.getByRole('button', { name: 'Run' });
  expect(call).toHaveProperty('disabled', true);
  const json = screen.getByLabelText('Arguments as JSON');
  await user.clear(json);
  await user.type(json, '{{"a": 2, "b": 40}');
  expect(call).toHaveProperty('disabled', false);
  expect(screen.getAllByRole('textbox').some((f) => (f as HTMLInputElement).value === '40')).toBe(true);
});

test('arguments fold away, and the call stays in reach', async () => {
  const { user } = show(<Arguments target={add} />);
  const fold = screen.getByRole('button', { name: 'Arguments' });
  expect(fold.getAttribute('aria-expanded')).toBe('true');
  await user.click(fold);
  expect(fold.getAttribute('aria-expanded')).toBe('false');
  expect(screen.queryByLabelText('Arguments as JSON')).toBeNull();
  expect(screen.getByRole('button', { name: 'Run' })).toBeTruthy();
});

const run = (id: string, more: Partial<PastRun>): PastRun => ({
  id,
  at: '2026-01-01T00:00:00Z',
  kind: 'tool',
  name: 'demo__add',
  server: '',
  args: { a: 1 },
  outcome: 'success',
  ns: 2_000_000,
  result: { sum: 1 },
  ...more,
});

test('two runs are compared, the older one at the left', async () => {
  sessionStorage.setItem(
    'junctor-runs',
    JSON.stringify([run('new', { args: { a: 2 }, result: { sum: 2 }, ns: 3_000_000 }), run('old', {})]),
  );
  const { user } = show(
    <>
      <Comparison />
      <RunHistory />
    </>,
  );
  const choose = screen.getAllByRole('button', { name: 'Compare: demo__add' });
  await user.click(choose[0] as HTMLElement);
  expect(screen.queryByRole('heading', { name: 'Comparison' })).toBeNull();
  await user.click(choose[1] as HTMLElement);
  const lines = within(await screen.findByLabelText('Results side by side'));
  const texts = [...lines.getAllByText(/sum/)].map((e) => e.textContent?.trim());
  expect(texts).toEqual(['"sum": 1', '"sum": 2']);
  expect(screen.getByLabelText('Arguments side by side')).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Close' }));
  expect(screen.queryByLabelText('Results side by side')).toBeNull();
});

test('equal results are said to be equal', () => {
  sessionStorage.setItem('junctor-runs', JSON.stringify([run('x', {}), run('y', {})]));
  sessionStorage.setItem('junctor-compared', JSON.stringify(['x', 'y']));
  show(<Comparison />);
  expect(screen.getByText('The results are the same.')).toBeTruthy();
});

test('the server searches tools', async () => {
  const all = Array.from({ length: 60 }, (_, i) => ({
    exposed: `many__t${i}`,
    name: `t${i}`,
    server: 'many',
    description: 'x',
    tokens: 1,
  }));
  const api = instance({
    'GET /servers': page([]),
    'GET /tools': (s: { path: string }) =>
      s.path.includes('q=t4999')
        ? page([{ exposed: 'many__t4999', name: 't4999', server: 'many', tokens: 1 }])
        : page(all, { total: 5000 }),
  });
  let taken = '';
  const { user } = show(
    <TargetChooser
      kind="tool"
      chosen={undefined}
      choose={(n) => {
        taken = n;
      }}
      server=""
      setServer={() => {}}
    />,
  );
  await screen.findByText('4,940 more. Search by name or description.');
  await user.type(screen.getByLabelText('Find a tool'), 't4999');
  await user.click(await screen.findByRole('option', { name: /many__t4999/ }));
  expect(taken).toBe('many__t4999');
  await waitFor(() => expect(api.sent.every((s) => !s.path.startsWith('/tools') || s.path.includes('limit=60'))).toBe(true));
});
