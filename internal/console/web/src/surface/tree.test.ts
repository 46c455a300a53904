import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draws } from './catalog.ts';
import { type Branch, type Component, grow, mostBranches, mostItems, readSurface, split, strangers } from './tree.ts';

const surface = (components: Component[], data: unknown = {}) => ({ id: 's', components, data });
const outline = (b: Branch | undefined): unknown =>
  b && [
    b.of.id,
    b.scope,
    ...b.children.map(outline),
    ...[b.child, b.trigger, b.content, b.fallback].flatMap((x) => (x ? [outline(x)] : [])),
  ];

test('components find each other by id, and lists repeat theirs for each item', () => {
  const s = surface(
    [
      { id: 'root', component: 'Column', children: ['title', 'rows', 'more'] },
      { id: 'title', component: 'Text', text: 'Title' },
      { id: 'rows', component: 'List', children: { componentId: 'row', path: '/rows' } },
      { id: 'row', component: 'Row', children: { componentId: 'cell', path: 'cells' } },
      { id: 'cell', component: 'Text', text: { path: 'name' } },
      { id: 'more', component: 'Modal', trigger: 'title', content: 'tabs' },
      { id: 'tabs', component: 'Tabs', tabs: [{ title: 'one', child: 'title' }] },
    ],
    { rows: [{ cells: [{ name: 'a' }, { name: 'b' }] }, { cells: [] }] },
  );
  const { root, problems } = grow(s, s.data);
  assert.deepEqual(problems, []);
  assert.deepEqual(outline(root), [
    'root',
    '',
    ['title', ''],
    ['rows', '', ['row', '/rows/0', ['cell', '/rows/0/cells/0'], ['cell', '/rows/0/cells/1']], ['row', '/rows/1']],
    ['more', '', ['title', ''], ['tabs', '', ['title', '']]],
  ]);
});

test('an App may name what stands for it', () => {
  const s = surface([
    { id: 'root', component: 'mcp:AppFrame', server: 'map', toolName: 'show-map', fallback: 'place' },
    { id: 'place', component: 'googlemaps:MapView', fallback: 'root' },
  ]);
  const { root, problems } = grow(s, {});
  assert.deepEqual([outline(root), problems], [['root', '', ['place', '']], []]);
  const gone = grow(surface([{ id: 'root', component: 'mcp:AppFrame', fallback: 'nowhere' }]), {});
  assert.equal(gone.problems[0]?.message, 'no component has the id nowhere');
});

test('what is wrong with a surface is said, and the rest is drawn', () => {
  for (const [name, components, want, drawn] of [
    ['no root', [{ id: 'a', component: 'Text', text: 'x' }], /no component has the id root/, false],
    ['a child that is not there', [{ id: 'root', component: 'Card', child: 'gone' }], /no component has the id gone/, true],
    ['a child that is no id', [{ id: 'root', component: 'Card', child: { text: 'x' } }], /no component has the id/, true],
    ['an id twice', [1, 2].map(() => ({ id: 'root', component: 'Divider' })), /two components have the id root/, true],
    [
      'components that hold each other',
      [
        { id: 'root', component: 'Card', child: 'a' },
        { id: 'a', component: 'Card', child: 'root' },
      ],
      /root holds itself/,
      true,
    ],
  ] as [string, Component[], RegExp, boolean][]) {
    const { root, problems } = grow(surface(components), {});
    assert.match(problems[0]?.message ?? '', want, name);
    assert.equal(root !== undefined, drawn, name);
  }
});

test('no surface is drawn without end', () => {
  const wide = Array.from({ length: 12 }, (_, i) => ({
    id: i === 0 ? 'root' : `c${i}`,
    component: 'Row',
    children: Array(9).fill(`c${i + 1}`),
  }));
  const { problems } = grow(surface([...wide, { id: 'c12', component: 'Divider' }]), {});
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.message ?? '', new RegExp(`more than ${mostBranches}`));
  const list = surface([
    { id: 'root', component: 'List', children: { componentId: 'a', path: '/items' } },
    { id: 'a', component: 'Divider' },
  ]);
  assert.equal(grow(list, { items: Array(5000).fill(0) }).root?.children.length, mostItems);
});

test('what came over the wire is a surface or nothing', () => {
  for (const v of [undefined, null, 1, 'x', [], {}, { id: '', components: [] }, { id: 's' }, { id: 's', components: {} }])
    assert.equal(readSurface(v), undefined, JSON.stringify(v));
  assert.deepEqual(readSurface({ id: 's', components: [1, null, { id: 'a' }, { id: 'root', component: 'Divider' }] }), {
    id: 's',
    components: [{ id: 'root', component: 'Divider' }],
    data: {},
  });
});

test('namespaces are told apart, and strangers reported once by name', () => {
  assert.deepEqual(split('googlemaps:MapView'), { namespace: 'googlemaps', name: 'MapView' });
  assert.deepEqual(split('Text'), { namespace: '', name: 'Text' });
  assert.ok(draws('Text') && draws('AccountCard') && draws('googlemaps:MapView') && draws('mcp:AppFrame'));
  assert.ok(!draws('MapView') && !draws('othermaps:MapView') && !draws('constructor') && !draws('toString'));
  const s = surface([
    { id: 'root', component: 'Column', children: ['a', 'b'] },
    { id: 'a', component: 'acme:Gauge' },
    { id: 'b', component: 'acme:Gauge' },
  ]);
  assert.deepEqual(strangers(s, draws), [
    { code: 'UNKNOWN_COMPONENT', path: '/components/1/component', message: 'the console has no component acme:Gauge' },
  ]);
});
