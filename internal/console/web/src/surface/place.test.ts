import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spotOf, tilesOf, zoomOf } from './place.ts';

test('a place is on earth or nowhere', () => {
  assert.deepEqual(spotOf(51.459007, -0.337418), { latitude: 51.459007, longitude: -0.337418 });
  assert.deepEqual(spotOf(0, 0), { latitude: 0, longitude: 0 });
  for (const [a, b] of [
    [91, 0],
    [0, 181],
    [undefined, 0],
    [0, undefined],
  ])
    assert.equal(spotOf(a, b), undefined);
});

test('tiles are an address with its three places, and whom they are of', () => {
  assert.deepEqual(tilesOf('https://tiles.example/{z}/{x}/{y}.png © Example, and others'), {
    url: 'https://tiles.example/{z}/{x}/{y}.png',
    by: '© Example, and others',
  });
  assert.equal(tilesOf('https://tiles.example/{z}/{x}/{y}.png')?.by, 'map by tiles.example');
  for (const s of ['', '__TILES__', 'https://tiles.example/', 'ftp://x/{z}/{x}/{y}', 'javascript:{z}{x}{y}'])
    assert.equal(tilesOf(s), undefined, s);
});

test('without tiles a map is seen from afar', () => {
  assert.equal(zoomOf(15, undefined), 6);
  assert.equal(zoomOf(3, undefined), 3);
  const tiles = tilesOf('https://tiles.example/{z}/{x}/{y}.png');
  assert.equal(zoomOf(undefined, tiles), 15);
  assert.equal(zoomOf(99, tiles), 19);
  assert.equal(zoomOf(-3, tiles), 1);
});
