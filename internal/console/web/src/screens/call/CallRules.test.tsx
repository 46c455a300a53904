import { screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { instance, show } from '../../test/render';
import { CallRules } from './CallRules';

test('the rules of a call are shown as they were recorded, and explained when somebody asks', async () => {
  const { sent } = instance({
    'GET /calls/c1/policies': {
      call: 'c1',
      recorded: [],
      verdict: 'denied',
      rule: 'no-plans',
      rules: [
        {
          rule: 'no-plans',
          version: 'v2',
          phase: 'call',
          verdict: 'deny',
          mode: 'enforce',
          value: 'true',
          decided: true,
          parts: [{ expression: 'args.text.contains("plans")', value: 'true', inputs: ['args.text = "our plans"'] }],
        },
        { rule: 'later', version: 'v', phase: 'call', verdict: 'deny', mode: 'audit', value: 'skipped' },
      ],
      inputs: { args: { text: 'our plans' } },
      notes: ['the rule "no-plans" was changed after the call'],
    },
  });
  const { user } = show(
    <CallRules id="c1" hits={[{ rule: 'no-plans', version: 'v1', verdict: 'deny', mode: 'enforce', value: 'true', decided: true }]} />,
  );
  const recorded = screen.getByRole('list', { name: 'Rules that were evaluated' });
  expect(recorded.textContent).toBe('no-plansDenymatcheddecided');
  expect(within(recorded).getByRole('link').getAttribute('href')).toBe('/policies/no-plans');
  expect(sent).toEqual([]);
  await user.click(screen.getByRole('button', { name: 'Explain' }));
  await screen.findByText('the rule "no-plans" was changed after the call');
  const rule = screen.getByRole('region', { name: 'Rule no-plans' });
  expect(within(rule).getByText('args.text.contains("plans")')).toBeTruthy();
  expect(within(rule).getByText('args.text = "our plans"')).toBeTruthy();
  expect(within(screen.getByRole('region', { name: 'Rule later' })).getByText('skipped')).toBeTruthy();
});

test('a call without rules says so', () => {
  instance({});
  show(<CallRules id="c1" hits={[]} />);
  expect(screen.getByText('No rule was evaluated when the call was made.')).toBeTruthy();
});
