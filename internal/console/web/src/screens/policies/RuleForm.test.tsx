import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { PolicyEntry, PolicySimulation } from '../../api/policies';
import { draftOf } from '../../parts/policy';
import { ada, instance, page, Refused, type Sent, show } from '../../test/render';
import { RuleForm } from './RuleForm';
import { Outcome } from './Simulation';

const echo = {
  server: 'demo',
  name: 'echo',
  exposed: 'demo__echo',
  roles: [],
  category: '',
  digest: '',
  tokens: 1,
  hints: {},
  input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
const simulation: PolicySimulation = {
  since: '2026-11-18T00:00:00Z',
  until: '2026-11-19T00:00:00Z',
  calls: 50,
  decided: 40,
  changed: 3,
  undecidable: { arguments: 7, facts: 3, result: 0, filter: 0 } as PolicySimulation['undecidable'],
  share: 0.25,
  differences: [
    { rule: 'no-plans', tool: 'demo/echo', agent: 'clerk', from: 'made', to: 'denied', calls: 2, samples: ['c1', 'c2'] },
    { rule: 'other', tool: 'demo/echo', from: 'denied', to: 'made', calls: 1, samples: ['c3'] },
  ],
  rules: [{ rule: 'no-plans', mode: 'enforce', matched: 2 }],
};
const entry = (name: string, more: Partial<PolicyEntry> = {}): PolicyEntry => ({
  name,
  verdict: 'deny',
  position: 1,
  version: 'v',
  state: 'active',
  updated_at: '2026-11-19T10:00:00.5Z',
  ...more,
});
const stored = [entry('first'), entry('no-plans', { when: 'args.text.contains("plans")', position: 2 }), entry('last', { position: 3 })];

// check finds a wrong argument as an instance does.
const check = (sent: Sent) => {
  const [rule] = (sent.body as { rules: { when?: string }[] }).rules;
  return {
    problems: rule?.when?.includes('args.txt')
      ? [
          {
            rule: 'x',
            tool: 'demo/echo',
            line: 1,
            column: 5,
            message: 'the tool has no argument args.txt',
            suggestion: 'did you mean text?',
          },
        ]
      : [],
  };
};
const routes = {
  'GET /me': { ...ada, scopes: ['admin'] },
  'GET /tools': page([echo]),
  'GET /tools/demo__echo': echo,
  'POST /policies/check': check,
  'POST /policies/simulate': simulation,
};

test('a new rule is checked, completed and simulated while it is written, and stored', async () => {
  const { sent, changes } = instance({
    ...routes,
    'GET /policies': page(stored),
    'PUT /policies/no-secrets': (s: Sent) => entry('no-secrets', s.body as Partial<PolicyEntry>),
  });
  const { user } = show(<RuleForm had={draftOf({ verdict: 'deny' })} stored={stored} />);
  await screen.findByText('Matches 1 tool: demo/echo');
  await user.type(screen.getByLabelText(/^Name/), 'first');
  expect(await screen.findByText('Another rule has this name.')).toBeTruthy();
  await user.clear(screen.getByLabelText(/^Name/));
  await user.type(screen.getByLabelText(/^Name/), 'no-secrets');
  const box = screen.getByLabelText<HTMLTextAreaElement>('Condition');
  await user.type(box, 'args.txt == "x"');
  const wrong = await screen.findByText(/The tool has no argument args.txt/);
  expect(wrong.textContent).toContain('Line 1, column 5');
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Add' }).disabled).toBe(true);
  expect(screen.getByText('Fix the condition first.')).toBeTruthy();
  await user.click(screen.getByRole('button', { name: 'Use text' }));
  expect(box.value).toBe('args.text == "x"');
  await screen.findByText('valid');
  await screen.findByText(/of 40 calls would have ended otherwise/);
  const asked = () => {
    const last = sent.filter((s) => s.path === '/policies/simulate').at(-1);
    return (last?.body as { rules: { name: string; when?: string }[] } | undefined)?.rules ?? [];
  };
  await waitFor(() => expect(asked().at(-1)?.when).toBe('args.text == "x"'));
  expect(asked().map((r) => r.name)).toEqual(['first', 'no-plans', 'last', 'no-secrets']);
  // The arguments of the tools of the target are offered.
  await user.type(box, ' && args.te');
  expect(await screen.findByRole('option', { name: /text/ })).toBeTruthy();
  await user.keyboard('{Escape}{Backspace>11/}');
  expect(box.value).toBe('args.text == "x"');
  await user.selectOptions(screen.getByLabelText('Place'), 'Before first');
  await waitFor(() => expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Add' }).disabled).toBe(false));
  await user.click(screen.getByRole('button', { name: 'Add' }));
  await waitFor(() => expect(changes().some((s) => s.method === 'PUT')).toBe(true));
  const put = changes().find((s) => s.method === 'PUT');
  expect(put?.path).toBe('/policies/no-secrets?before=first');
  expect(put?.body).toEqual({ when: 'args.text == "x"', verdict: 'deny' });
  await waitFor(() => expect(window.location.pathname).toBe('/policies/no-secrets'));
});

test('a stored rule is changed in the version that was read, and a conflict is shown', async () => {
  const theirs = entry('no-plans', { when: 'true', title: 'Theirs', updated_at: '2026-11-19T11:00:00Z' });
  const { changes } = instance({
    ...routes,
    'PUT /policies/no-plans': new Refused(412, { code: 'precondition', detail: 'changed', current: theirs, changed_by: 'user:eve' }),
  });
  const { user } = show(<RuleForm had={draftOf(stored[1] as PolicyEntry)} of={stored[1] as PolicyEntry} stored={stored} />);
  await user.type(screen.getByLabelText('Title'), 'Mine');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  const dialog = await screen.findByRole('dialog');
  expect(within(dialog).getAllByText('Theirs')).toHaveLength(2); // the column, and its title
  const put = changes().find((s) => s.method === 'PUT');
  expect(put?.headers.get('If-Match')).toBe('"2026-11-19T10:00:00.5Z"');
});

test('the verdicts are those of the phase, and their fields appear', async () => {
  instance(routes);
  const { user } = show(<RuleForm had={draftOf({ name: 'x', verdict: 'deny' })} stored={[]} />);
  await user.selectOptions(await screen.findByLabelText('Evaluated'), 'On the result');
  const verdict = screen.getByLabelText<HTMLSelectElement>('Verdict');
  expect([...verdict.options].map((o) => o.value)).toEqual(['redact', 'cut', 'deny']);
  await user.selectOptions(verdict, 'Redact');
  expect((await screen.findAllByText('Choose what is redacted.')).length).toBeGreaterThan(0);
  await user.click(screen.getByLabelText('E-mail addresses'));
  await waitFor(() => expect(screen.queryByText('Choose what is redacted.')).toBeNull());
  await user.selectOptions(screen.getByLabelText('Evaluated'), 'Before the call');
  expect([...verdict.options].map((o) => o.value)).toEqual(['deny', 'ask', 'allow']);
  expect(verdict.value).toBe('deny');
  await user.click(screen.getByLabelText('A webhook decides about calls that match'));
  expect(screen.getByLabelText(/^Address/)).toBeTruthy();
});

test('without policy:write, nothing is asked that would be refused', async () => {
  const { missing, sent } = instance({ 'GET /me': { ...ada, scopes: ['audit:read'] } });
  show(<RuleForm had={draftOf(stored[1] as PolicyEntry)} of={stored[1] as PolicyEntry} stored={stored} fixed />);
  await waitFor(() => expect(sent.length).toBeGreaterThan(0));
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
  expect(screen.queryByText('Simulation')).toBeNull();
  expect(missing).toEqual([]);
});

test('a simulation names what would differ, by rule, tool and agent, and counts apart what it cannot decide', async () => {
  show(<Outcome s={simulation} rule="no-plans" audit />);
  expect(screen.getByRole('status').textContent).toBe(
    '3 of 40 calls would have ended otherwise. This rule matches 2. The simulation enforces it.',
  );
  const groups = within(screen.getByRole('list', { name: 'Calls that would have ended otherwise' })).getAllByRole('listitem');
  expect(groups.map((g) => g.textContent)).toEqual([
    'demo/echomade → denied2agent clerkby this rulecall 1call 2',
    'demo/echodenied → made1no agentby othercall 1',
  ]);
  expect(screen.getByRole('link', { name: 'Call 2 of demo/echo, made to denied' }).getAttribute('href')).toBe('/calls/c2');
  expect(screen.getByText(/10 more calls cannot be decided: 7 with arguments/)).toBeTruthy();
  expect(screen.getByText('The history keeps 25 % of the calls of this time.')).toBeTruthy();
});

test('a call is made up, and what the rules come to is shown', async () => {
  const tested: unknown[] = [];
  const { changes } = instance({
    ...routes,
    'POST /policies/test': (s: Sent) => {
      const { cases, rules } = s.body as { cases: { args: { text?: string } }[]; rules: { name: string; mode?: string }[] };
      tested.push(
        cases[0],
        rules.map((r) => r.name + (r.mode ?? '')),
      );
      const denied = cases[0]?.args?.text?.includes('plans');
      return { failed: 0, results: [{ name: '', ok: true, got: denied ? 'denied' : 'made', ...(denied ? { rule: 'no-plans' } : {}) }] };
    },
  });
  const rule = { ...(stored[1] as PolicyEntry), mode: 'audit' as const };
  const { user } = show(<RuleForm had={draftOf(rule)} of={rule} stored={stored} />);
  await screen.findByText('Matches 1 tool: demo/echo');
  await user.click(screen.getByText('Try a call'));
  expect((await screen.findByLabelText<HTMLInputElement>('Call')).value).toBe('demo/echo');
  await screen.findByText(/It would be/);
  const box = screen.getByLabelText('Arguments');
  await user.clear(box);
  await user.type(box, '{{"text": "our plans"');
  await waitFor(() => expect(box.getAttribute('aria-invalid')).toBe('true'));
  await user.type(box, '}');
  await user.type(screen.getByLabelText('By the agent'), 'clerk{Enter}'); // which stores nothing
  await waitFor(() => expect(screen.getByText(/It would be/).textContent).toBe('It would be denied by this rule.'));
  await waitFor(() =>
    expect(tested.at(-2)).toMatchObject({ call: 'demo/echo', args: { text: 'our plans' }, principal: { agent: 'clerk' } }),
  );
  expect(changes().some((s) => s.method === 'PUT')).toBe(false);
  expect(tested.at(-1), 'the rule is enforced here').toEqual(['first', 'no-plans', 'last']);
});
