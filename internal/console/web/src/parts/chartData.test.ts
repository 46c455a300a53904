import assert from 'node:assert/strict';
import test from 'node:test';
import type { Metrics, Numbers } from '../api/metrics.ts';
import { isEmpty, newChartData, stack, toCSV } from './chartData.ts';

const none = { calls: 0, errors: 0, p50_us: 0 } as Numbers;
const numbers = (calls: number, errors: number): Numbers => ({ ...none, calls, errors });
const answer = {
  from: '2026-11-19T10:00:00Z',
  to: '2026-11-19T10:03:00Z',
  step_seconds: 60,
  count: 1,
  series: [
    {
      first: '',
      total: numbers(9, 2),
      points: [
        { time: '2026-11-19T10:00:00Z', ...numbers(5, 2) },
        { time: '2026-11-19T10:02:00Z', ...numbers(4, 0) },
      ],
    },
  ],
} as Metrics;
const data = newChartData(
  answer,
  [
    { label: 'Success', tone: 'success', value: (n) => n.calls - n.errors },
    { label: 'Failed, all', tone: 'failed', value: (n) => n.errors },
    { label: 'p50', tone: 'low', value: (n) => n.p50_us || null },
  ],
  none,
);

test('each step has a value, also one without a point', () => {
  assert.deepEqual(
    data.lines.map((l) => l.values),
    [
      [3, 0, 4],
      [2, 0, 0],
      [null, null, null],
    ],
  );
  assert.deepEqual(
    data.lines.map((l) => l.total),
    [7, 2, null],
  );
  assert.equal(isEmpty(data), false);
  assert.equal(isEmpty(newChartData({ ...answer, series: [] }, [{ label: 'Calls', tone: 'low', value: (n) => n.calls }], none)), true);
});

test('stacked bars cover each other', () => {
  assert.deepEqual(stack({ ...data, lines: data.lines.slice(0, 2) }), [
    [5, null, null],
    [3, null, 4],
  ]);
});

test('a chart is saved as CSV', () => {
  assert.equal(
    toCSV(data),
    'time,Success,"Failed, all",p50\n2026-11-19T10:00:00.000Z,3,2,\n2026-11-19T10:01:00.000Z,0,0,\n2026-11-19T10:02:00.000Z,4,0,\n',
  );
});
