import { screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { show } from '../test/render';
import { useFields } from './useFields';

function Form({ changed }: { changed: () => void }) {
  const { fields, edit, edited, reset, text, check } = useFields({ name: 'first', on: false, list: ['a'] }, changed);
  return (
    <form>
      <input aria-label="Name" {...text('name')} />
      <input type="checkbox" aria-label="On" {...check('on')} />
      <button type="button" onClick={() => edit({ list: [...fields.list, 'b'] })}>
        Add
      </button>
      <button type="button" onClick={reset}>
        Reset
      </button>
      <output>{JSON.stringify({ ...fields, edited })}</output>
    </form>
  );
}

test('fields keep what is typed, know whether they were edited, and go back', async () => {
  const changed = vi.fn();
  const { user } = show(<Form changed={changed} />);
  const now = () => JSON.parse(screen.getByRole('status').textContent ?? '');
  expect(now()).toEqual({ name: 'first', on: false, list: ['a'], edited: false });
  await user.type(screen.getByLabelText('Name'), '!');
  await user.click(screen.getByLabelText('On'));
  await user.click(screen.getByRole('button', { name: 'Add' }));
  expect(now()).toEqual({ name: 'first!', on: true, list: ['a', 'b'], edited: true });
  expect(changed).toHaveBeenCalledTimes(3);
  await user.click(screen.getByRole('button', { name: 'Reset' }));
  expect(now()).toEqual({ name: 'first', on: false, list: ['a'], edited: false });
});
