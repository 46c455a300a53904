import assert from 'node:assert/strict';
import test from 'node:test';
import { callsIn, fromLocal, newRange, ranges, toLocal, usualRange } from './range.ts';

const now = Date.parse('2026-11-19T10:20:30Z');

test('a range ends with the minute that now is in', () => {
  for (const choice of ranges) {
    const r = newRange({ range: choice.key, from: '', to: '', live: true }, now);
    assert.equal(new Date(r.to).toISOString(), '2026-11-19T10:21:00.000Z');
    assert.equal(r.to - r.from, choice.width);
    assert.equal(r.live, true);
  }
});

test('without a valid choice, the range is the usual one', () => {
  for (const [range, from, to] of [
    ['', '', ''],
    ['2h', '', ''],
    ['custom', '', ''],
    ['custom', '2026-11-19T10:00:00Z', '2026-11-19T09:00:00Z'],
    ['custom', 'yesterday', '2026-11-19T09:00:00Z'],
  ] as const)
    assert.equal(newRange({ range, from, to, live: true }, now).key, usualRange);
});

test('a custom range stays where it is', () => {
  const r = newRange({ range: 'custom', from: '2026-11-19T09:00:00Z', to: '2026-11-19T10:00:00Z', live: true }, now);
  assert.deepEqual([r.key, r.to - r.from, r.live, r.step], ['custom', 3_600_000, false, '']);
});

test('the calls of a period are a link', () => {
  assert.equal(
    callsIn(now, now + 60_000, { tool: 'add' }),
    '/calls?tool=add&since=2026-11-19T10%3A20%3A30.000Z&until=2026-11-19T10%3A21%3A30.000Z',
  );
});

test('a field for a local time keeps the minute', () => {
  assert.equal(fromLocal(toLocal('2026-11-19T10:20:30Z')), '2026-11-19T10:20:00.000Z');
  assert.equal(toLocal('never'), '');
  assert.equal(fromLocal(''), undefined);
});
