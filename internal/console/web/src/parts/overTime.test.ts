import assert from 'node:assert/strict';
import test from 'node:test';
import { countSpans, newDayData, newStepData, sumSpans } from './chartData.ts';
import { age } from './format.ts';
import { leaves } from './unsaved.ts';

const at = (minute: number) => Date.parse('2026-05-04T03:00:00Z') + minute * 60_000;
const iso = (minute: number) => new Date(at(minute)).toISOString();

test('points become the lines of a chart', () => {
  const m = {
    from: iso(0),
    to: iso(2),
    step_seconds: 60,
    points: [
      { time: iso(0), n: 3 },
      { time: iso(1), n: 0 },
    ],
  };
  const data = newStepData(m, [{ label: 'Sum', tone: 'low', value: (p) => p.n, total: (all) => all.reduce((n, p) => n + p.n, 0) }]);
  assert.deepEqual([data.from, data.to, data.step, data.times], [at(0), at(2), 60_000, [at(0), at(1)]]);
  assert.deepEqual(data.lines, [{ label: 'Sum', tone: 'low', values: [3, 0], total: 3 }]);
});

test('outages are counted in each step that they overlap, and not in the future', () => {
  const times = [0, 10, 20, 30, 40].map(at);
  const spans = [{ from: iso(5), to: iso(12) }, { from: iso(11), to: iso(20) }, { from: iso(25) }, { from: iso(3), to: iso(3) }];
  assert.deepEqual(countSpans(times, 600_000, spans, at(39)), [2, 2, 1, 1, 0]);
});

test('outages at the same time are summed up once', () => {
  const spans = [{ from: iso(5), to: iso(12) }, { from: iso(8), to: iso(10) }, { from: iso(30) }];
  assert.equal(sumSpans(spans, at(0), at(40)) / 60_000, 17);
  assert.equal(sumSpans(spans, at(11), at(31)) / 60_000, 2);
  assert.equal(sumSpans([], at(0), at(40)), 0);
});

test('ages have one or two units', () => {
  for (const [seconds, want] of [
    [0, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [3600, '1 h'],
    [3660, '1 h 1 min'],
    [86_400, '1 d'],
    [180_000, '2 d 2 h'],
  ] as const)
    assert.equal(age(seconds), want);
});

test('a form is left by another path or another tab, and not by what a chart shows', () => {
  const from = new URL('http://x/triggers/hello?tab=settings&range=6h');
  const leads = (to: string) => leaves(from, new URL(to, from));
  assert.ok(leads('/triggers') && leads('/triggers/hello') && leads('?tab=activity') && leads('/triggers/other?tab=settings'));
  assert.ok(!leads('?tab=settings&range=1h') && !leads('/triggers/hello?tab=settings') && !leads('#x'.replace('#x', '?tab=settings')));
});

test('each day has its calls, also one without', () => {
  const sum = (day: string, calls: number, errors: number, refused: number) =>
    ({ day, calls, errors, refused }) as Parameters<typeof newDayData>[0][number];
  const data = newDayData([sum('2026-05-02T00:00:00Z', 9, 2, 3), sum('2026-05-04T00:00:00Z', 1, 0, 0)], '2026-05-02', 3);
  assert.deepEqual(
    data.lines.map((l) => [l.label, l.values, l.total]),
    [
      ['Success', [4, 0, 1], 5],
      ['Failed', [2, 0, 0], 2],
      ['Refused', [3, 0, 0], 3],
    ],
  );
  assert.deepEqual([data.from, data.to], [Date.parse('2026-05-02'), Date.parse('2026-05-05')]);
});
