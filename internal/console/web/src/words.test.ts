import assert from 'node:assert/strict';
import test from 'node:test';
import { collectStrings } from '../strings.mjs';

const screens = collectStrings();
const all = [...screens].flatMap(([screen, files]) =>
  [...files].flatMap(([file, own]) => [...own].map((text) => ({ screen, file, text }))),
);

// The words that each screen uses, as the field has them.
const wanted: Record<string, string[]> = {
  overview: ['View all', 'all healthy'],
  parts: ['p50', 'p95', 'Error rate', 'None', 'Basic', 'OAuth (user)', 'All time', 'Live'],
  servers: [
    'Test connection',
    'Connected',
    'Unreachable',
    'Connection check',
    'Authentication',
    'Built-in',
    'Upstream',
    'API',
    'Never connected',
    'Client registration',
    'Auto-detect',
    'Settings',
    'Scopes',
    'Save',
  ],
  agents: ['Allowed tools', 'Effective tools', 'Model & rules', 'A2A', 'Concurrency', 'Create', 'Created'],
  tools: ['All (incl. future)', 'Description', 'Input schema', 'Output schema', 'Destructive', 'Read-only', 'Set to auto'],
  settings: ['Burst', 'Concurrency', 'When exceeded', 'Rotate encryption key'],
  users: ['Disable user', 'Scopes', 'Cancel'],
  keys: ['Rotate key', 'Scopes'],
  calls: ['Timeline', 'Timing', 'Rules', 'Explain', 'Details', 'Request', 'Response', 'Resume'],
  playground: ['Run', 'Awaiting input', 'Code snippets', 'Clear'],
  chat: ['Approval needed', 'Auto'],
  deliveries: ['Deliveries', 'Idempotency key', 'Bulk actions', 'Resume', 'Pause', 'Discard', 'Dead letters'],
  events: ['Idempotency key'],
  policies: ['Condition', 'Verdict', 'Simulation', 'Try a call', 'Enforced', 'Mode', 'Use template', 'Redact', 'Remove'],
  triggers: ['Min score', 'Batch window in seconds', 'Use template'],
  sources: ['Cron schedule'],
  audit: ['Audit log', '… records verified'],
  app: ['Docs', 'Sign out'],
  apps: ['Host context'],
};

// Labels that were in use, and are said in another way now.
const retired = [
  'Available tools',
  'Call tool',
  'Read resource',
  'Get prompt',
  'Publishing',
  'Over the limit',
  'Concurrent',
  'Deduplication key',
  'Cron expression',
  'Minimum value',
  'Batch wait in seconds',
  'Replace the sealing key',
  'User login (OAuth)',
  'User name and password',
  'The connection works',
  'Change all',
  'Hold',
  'Release',
  'Drop',
  'Environment',
  'Use the rules',
  'all, including future tools',
  'built in',
  'from an API',
  'Input',
  'Output',
  'input required',
  'needs approval',
];

test('each screen has its words', () => {
  for (const [screen, words] of Object.entries(wanted)) {
    const own = all.filter((s) => s.screen === screen).map((s) => s.text);
    for (const word of words)
      assert.ok(
        own.some((text) => text === word || text.startsWith(`${word} `) || text === `… ${word}`),
        `${screen} does not say ${word}`,
      );
  }
});

test('no screen has a label that is retired', () => {
  for (const word of retired)
    assert.deepEqual(
      all.filter((s) => s.text === word && !(word === 'Environment' && s.file.endsWith('serverFields.ts'))),
      [],
      word,
    );
});

test('no text ends in three dots: the sign for them is one', () => {
  for (const { text, file } of all) assert.ok(!/\.\.\.$/.test(text), `${file}: ${text}`);
});
