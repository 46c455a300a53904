import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointPage, may, standing, targetOf } from './deliveries.ts';

const lane = (state: string) => ({ lane: 'agent:42', state, jobs: 1, held: 0 });

test('a queued delivery waits while the breaker of its endpoint is open', () => {
  assert.equal(standing({ state: 'ready', attempts: 0 }).name, 'scheduled');
  assert.equal(standing({ state: 'ready', attempts: 2 }).name, 'retrying');
  assert.equal(standing({ state: 'ready', attempts: 2 }, lane('open')).name, 'breaker open');
  assert.equal(standing({ state: 'waiting', attempts: 0 }, lane('stopped')).name, 'breaker open');
  assert.equal(standing({ state: 'waiting', attempts: 0 }, lane('half')).name, 'queued');
  assert.equal(standing({ state: 'done', attempts: 3 }, lane('open')).name, 'delivered');
  assert.match(standing({ state: 'held', attempts: 1, held: 'authentication_failed' }).about, /authentication failed/);
});

test('changes are offered where they make sense', () => {
  assert.ok(may('replay', { state: 'dead' }) && may('replay', { state: 'held' }) && !may('replay', { state: 'leased' }));
  assert.ok(may('release', { state: 'held' }) && !may('release', { state: 'ready' }));
  assert.ok(may('release', { state: 'waiting', held: 'by hand' }));
  assert.ok(!may('drop', { state: 'done' }) && may('drop', { state: 'dead' }));
});

test('endpoints say where they lead', () => {
  assert.deepEqual(targetOf('server:demo'), { kind: 'server', name: 'demo' });
  assert.deepEqual(targetOf('resolve:erc8004:1:42'), { kind: 'resolve', name: 'erc8004:1:42' });
  assert.deepEqual(targetOf('https://agent.example/mcp'), { kind: 'address', name: 'https://agent.example/mcp' });
});

test('the page of an endpoint has its name, whatever that is', () => {
  const page = new URL(endpointPage('https://agent.example/mcp?a=1&b=2'), 'http://x');
  assert.equal(page.searchParams.get('endpoint'), 'https://agent.example/mcp?a=1&b=2');
});
