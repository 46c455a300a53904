import { screen, within } from '@testing-library/react';
import { useState } from 'react';
import { expect, test } from 'vitest';
import type { PolicyProblem } from '../../api/policies';
import type { Member } from '../../parts/condition';
import { show } from '../../test/render';
import { ConditionEditor } from './ConditionEditor';

const args: Member[] = [
  { name: 'text', type: 'text' },
  { name: 'amount', type: 'integer', about: 'in cents' },
];

function Editor({ first = '', problems = [] }: { first?: string; problems?: PolicyProblem[] }) {
  const [value, change] = useState(first);
  return (
    <ConditionEditor
      value={value}
      change={change}
      phase="call"
      args={args}
      problems={value === first ? problems : []}
      checked={first}
      state={<p>valid</p>}
    />
  );
}
const box = () => screen.getByLabelText<HTMLTextAreaElement>('Condition');
const list = () => screen.queryByRole('listbox', { name: 'Completions' });
const options = () => within(screen.getByRole('listbox')).getAllByRole('option');

test('a condition is completed by keyboard', async () => {
  const { user } = show(<Editor />);
  await user.type(box(), 'ar');
  expect(options().map((o) => o.querySelector('code')?.textContent)).toEqual(['args']);
  expect(box().getAttribute('aria-controls')).toBe(list()?.id);
  await user.keyboard('{Enter}');
  expect(box().value).toBe('args');
  expect(list()).toBeNull();
  await user.keyboard('.');
  expect(options()).toHaveLength(2);
  await user.keyboard('{ArrowDown}');
  const second = options()[1];
  expect(second?.getAttribute('aria-selected')).toBe('true');
  expect(second?.textContent).toContain('in cents');
  expect(box().getAttribute('aria-activedescendant')).toBe(second?.id);
  await user.keyboard('{Tab}');
  expect(box().value).toBe('args.amount');
  expect(document.activeElement).toBe(box());
  await user.keyboard(' > 5');
  expect(box().value).toBe('args.amount > 5');
});

test('a function leaves the caret between its parentheses, and methods follow the type', async () => {
  const { user } = show(<Editor />);
  await user.type(box(), 'siz');
  await user.keyboard('{Enter}');
  expect(box().value).toBe('size()');
  await user.keyboard('args.text');
  expect(box().value).toBe('size(args.text)');
  await user.keyboard('.sta{Enter}a');
  expect(box().value).toBe('size(args.text.startsWith("a"))');
});

test('Escape closes the list, and Ctrl-Space opens it', async () => {
  const { user } = show(<Editor />);
  await user.type(box(), 'pri');
  expect(list()).toBeTruthy();
  await user.keyboard('{Escape}');
  expect(list()).toBeNull();
  await user.keyboard('{Control>} {/Control}');
  expect(options()).toHaveLength(1);
  await user.keyboard('{ArrowLeft}');
  expect(list(), 'the caret left the word').toBeNull();
  await user.keyboard('{Tab}');
  expect(document.activeElement, 'without a list, Tab moves on').not.toBe(box());
});

test('an option is chosen with the pointer', async () => {
  const { user } = show(<Editor />);
  await user.type(box(), 'tool.');
  await user.click(screen.getByRole('option', { name: /read_only/ }));
  expect(box().value).toBe('tool.read_only');
  expect(document.activeElement).toBe(box());
});

const missing = (tool: string): PolicyProblem => ({
  rule: 'a',
  tool,
  line: 2,
  column: 4,
  message: 'the tool has no argument args.txt',
  suggestion: 'did you mean text?',
});

test('a problem stands at its place, once for all tools, and its suggestion is applied', async () => {
  const first = 'tool.read_only\n&& args.txt == "x"';
  const { user, container } = show(<Editor first={first} problems={[missing('demo/echo'), missing('demo/say')]} />);
  expect([...container.querySelectorAll('mark')].map((m) => m.textContent)).toEqual(['args.txt']);
  expect(box().getAttribute('aria-invalid')).toBe('true');
  const described = box().getAttribute('aria-describedby')?.split(' ').at(-1) ?? '';
  expect(document.getElementById(described)?.textContent).toContain(
    'Line 2, column 4: The tool has no argument args.txt; did you mean text? (demo/echo, demo/say)',
  );
  await user.click(screen.getByRole('button', { name: 'Line 2, column 4' }));
  expect([box().selectionStart, box().selectionEnd]).toEqual([18, 26]);
  await user.click(screen.getByRole('button', { name: 'Use text' }));
  expect(box().value).toBe('tool.read_only\n&& args.text == "x"');
  expect(container.querySelector('mark')).toBeNull();
  expect(box().getAttribute('aria-invalid')).toBe('false');
  expect(screen.getByText('valid')).toBeTruthy();
});

test('problems of a former text are not marked in another', async () => {
  const { container } = show(
    <ConditionEditor value="args.text" change={() => {}} phase="call" args={args} problems={[missing('a/b')]} checked={'\nargs.txt'} />,
  );
  expect(container.querySelector('mark')).toBeNull();
  expect(screen.getByText(/The tool has no argument/)).toBeTruthy();
});
