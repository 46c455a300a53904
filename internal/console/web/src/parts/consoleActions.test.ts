import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleActions } from './consoleActions.ts';

test('commands of errors have screens', () => {
  for (const [text, want] of [
    ['unknown server "x"; junctor server ls lists the servers', ['Servers /servers']],
    ['log in first: junctor server login github --shared', ['Log in to github /servers/github?tab=sign-in']],
    ['With per-user, an admin runs junctor server login NAME --shared', ['Servers /servers']],
    ['raise it with junctor limit set free --per-day 100', ['Limits /settings?tab=limits']],
    ['see junctor agent show qa-bot and junctor agent ls', ['Agents /agents/qa-bot', 'Agents /agents']],
    ['junctor role ls lists roles; junctor role ls', ['Roles /settings?tab=roles']],
    ['see junctor policy show no-plans and junctor policy ls', ['Policies /policies/no-plans', 'Policies /policies']],
    ['run junctor doctor', ['Instance /settings?tab=instance']],
    ['try `junctor tool call demo__add`', ['Playground /playground?name=demo__add']],
    ['start with junctor up --allow-commands', []],
    ['nothing of it', []],
  ] as const)
    assert.deepEqual(
      consoleActions(text).map((a) => `${a.name} ${a.to}`),
      want,
      text,
    );
});
