import { screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { Failure } from '../api/client';
import { show } from '../test/render';
import { ErrorCard, QueryContent } from './states';

const unknown = new Failure(
  { code: 'not_found', detail: 'unknown server "x"; junctor server ls lists the servers', hint: 'junctor server ls', status: 404 },
  'GET /servers/x',
  'R1',
);

test('an error offers the screen before it quotes the command', () => {
  show(<ErrorCard error={unknown} />);
  const link = screen.getByRole('link', { name: 'Servers' });
  expect(link.getAttribute('href')).toBe('/servers');
  const advice = screen.getByText('What to do').nextElementSibling;
  const text = advice?.textContent ?? '';
  expect(text.indexOf('Servers')).toBeLessThan(text.indexOf('junctor server ls'));
  expect(screen.getByText('R1')).toBeTruthy();
});

test('an error without a command has the usual advice', () => {
  show(<ErrorCard error={new Failure({ code: 'limited', detail: 'too many calls' }, 'POST /run')} />);
  expect(screen.queryByRole('link')).toBeNull();
  expect(screen.getByText('Wait a moment and try again.')).toBeTruthy();
});

test('a query draws its data, its error with a retry, or bones', async () => {
  const refetch = vi.fn();
  const { user } = show(
    <QueryContent query={{ data: undefined, error: unknown, isPending: false, refetch }}>{() => <p>data</p>}</QueryContent>,
  );
  await user.click(screen.getByRole('button', { name: 'Try again' }));
  expect(refetch).toHaveBeenCalledOnce();
  expect(screen.queryByText('data')).toBeNull();
});
