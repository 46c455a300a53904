// How a generated View chooses: the parts of its page that touch no document, held
// to examples and to what must be so of any answer whatever. The argument is the
// folder of the page.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const folder = pathToFileURL(`${process.argv[2]}/`);
const part = (name) => import(new URL(`${name}.js`, folder).href);
const [{ readResult }, { choose }, { nextPage, nextCalls, nouns }, { fieldsOf, argumentsOf, entryOf }, { formats, draw }, { columnOf, mostTelling, columnsOf }, { sorted }, { ticks, thin }, { clusters, fit, project }, { rowsOf }, values] =
  await Promise.all(['result', 'choose', 'next', 'form', 'format', 'columns', 'table', 'chart', 'map', 'rows', 'value'].map(part));

const of = (structuredContent, schema = {}) => choose(readResult({ content: [], structuredContent }), schema);
const days = Array.from({ length: 8 }, (_, i) => `2026-03-0${i + 1}`);

const examples = {
  'a list of objects is a table': [{ result: [{ id: 1, name: 'Ann' }, { id: 2, name: 'Bo' }] }, 'table', ['table', 'raw']],
  'a list among what speaks about it is a table': [{ total: 2, page: 1, items: [{ id: 1, name: 'Ann' }, { id: 2, name: 'Bo' }] }, 'table', ['table', 'record', 'raw']],
  'an object is a record': [{ id: 7, name: 'Rex', owner: { name: 'Ann' } }, 'record', ['record', 'raw']],
  'an object with a name keeps its lists': [{ id: 7, name: 'Rex', tags: [{ id: 1 }, { id: 2 }] }, 'record', ['record', 'raw']],
  'numbers over days are a chart': [{ daily: { time: days, temperature: days.map((_, i) => i * 1.5) } }, 'chart', ['table', 'chart', 'raw']],
  'amounts by key are a chart': [{ base: 'EUR', rates: { USD: 1.08, GBP: 0.85, JPY: 163.1 } }, 'chart', ['table', 'record', 'chart', 'raw']],
  'prices in a list can be drawn': [{ items: [{ name: 'a', price: 3, note: 'x' }, { name: 'b', price: 5, note: 'y' }] }, 'table', ['table', 'chart', 'raw']],
  'places with little else are a map': [{ result: [{ name: 'Bern', lat: 46.95, lon: 7.45 }, { name: 'Rome', lat: 41.9, lon: 12.5 }] }, 'map', ['table', 'map', 'raw']],
  'a place is on the map': [{ id: 1, name: 'Bern', location: { latitude: 46.95, longitude: 7.45 } }, 'record', ['record', 'map', 'raw']],
  'GeoJSON is a map': [{ type: 'FeatureCollection', features: [{ type: 'Feature', properties: { name: 'Bern' }, geometry: { type: 'Point', coordinates: [7.45, 46.95] } }] }, 'map', ['table', 'record', 'map', 'raw']],
  'a list deep in an envelope is found': [{ data: { repository: { issues: { nodes: [{ number: 1, title: 'x' }], pageInfo: { hasNextPage: false } } } } }, 'table', ['table', 'record', 'raw']],
  'a list of nothing is a table without rows': [{ items: [] }, 'table', ['table', 'raw']],
  'words are rows': [{ result: ['red', 'green'] }, 'table', ['table', 'raw']],
  'nothing is said': [{}, 'text', ['text', 'raw']],
};
for (const [what, [value, first, views]] of Object.entries(examples)) {
  const plan = of(value);
  assert.deepEqual([plan.first, plan.views], [first, views], what);
}

const failed = choose(readResult({ isError: true, content: [{ type: 'text', text: '{"items":[{"a":1}]}' }] }), {});
assert.deepEqual([failed.first, failed.views], ['text', ['text', 'raw']], 'a failure is told, not drawn');
assert.equal(choose(readResult({ content: [{ type: 'text', text: '[{"id":1,"name":"x"}]' }] }), {}).first, 'table', 'JSON in a text is data');
assert.deepEqual(readResult({ structuredContent: { result: [1], truncated: { cut: [{ pointer: '/a', shown: 1, of: 9 }] } } }).cuts, [{ pointer: '/a', shown: 1, of: 9 }]);

// Names and order come from the schema, and an empty table has its columns.
const schema = { type: 'object', properties: { items: { type: 'array', items: { $ref: '#/$defs/pet' } } }, $defs: { pet: { properties: { name: { title: 'Its name' }, id: { type: 'integer' } } } } };
assert.deepEqual(of({ items: [] }, schema).columns.map((c) => c.title), ['Its name', 'ID']);
assert.deepEqual(of({ items: [{ id: 1, name: 'x' }] }, schema).columns.map((c) => c.key), ['name', 'id']);

const kinds = { created_at: ['time', 1767225600], price: ['number', '12.50'], id: ['id', 12], zip: ['id', '04123'], born: ['date', '2026-01-02'], seen: ['time', '2026-01-02T03:04:05Z'], ok: ['flag', true], home: ['link', 'https://example.com/x'], mail: ['mail', 'a@example.com'], lat: ['place', 1.5], tags: ['list', ['a']], owner: ['object', {}], link: ['label', 'javascript:alert(1)'] };
for (const [key, [kind, value]] of Object.entries(kinds)) assert.equal(columnOf(key, [value]).kind, kind, key);

const format = formats('en-US', 'UTC');
assert.equal(format.cell(1234567.5, 'number'), '1,234,567.5');
assert.equal(format.cell(1234567, 'id'), '1234567');
assert.equal(format.cell('2026-01-02', 'date'), 'Jan 2, 2026');
assert.match(format.cell('2026-01-02T03:04:05Z', 'time'), /Jan 2, 2026, 3:04/);
assert.equal(format.cell(null, 'number'), '–');
assert.equal(formats('no such language!', 'Nowhere/Land').cell(5, 'number'), '5');

// The next page and the next call.
const list = { name: 'list_pets', inputSchema: { properties: { page: { type: 'integer' }, per_page: { type: 'integer' }, cursor: { type: 'string' } } }, annotations: { readOnlyHint: true } };
const found = (value) => [readResult({ structuredContent: value }), rowsOf(value, {})];
const onward = (tool, args, value, meta) => {
  const [read, rows] = found(value);
  if (meta) read.next = meta;
  return nextPage(tool, args, read, rows);
};
const pages = { name: 'list_pets', inputSchema: { properties: { page: { type: 'integer' }, per_page: { type: 'integer' } } } };
assert.deepEqual(onward(pages, { q: 'x' }, { items: [{ id: 1 }] }), { q: 'x', page: 2 });
assert.deepEqual(onward(pages, { page: 3, per_page: 1 }, { items: [{ id: 1 }] }), { page: 4, per_page: 1 });
assert.equal(onward(pages, { per_page: 2 }, { items: [{ id: 1 }] }), undefined, 'a short page is the last');
assert.equal(onward(pages, { page: 2, per_page: 1 }, { total: 2, items: [{ id: 1 }] }), undefined, 'all were seen');
assert.deepEqual(onward(list, {}, { items: [{ id: 1 }], next_cursor: 'abc' }), { cursor: 'abc' });
assert.equal(onward(list, {}, { items: [{ id: 1 }], next_cursor: null, has_more: false }), undefined);
assert.deepEqual(onward({ name: 'x' }, { a: 1 }, { items: [{ id: 1 }] }, { page: 5 }), { a: 1, page: 5 }, 'what the gateway says counts');

const tool = (name, required, readOnlyHint = true, extra = {}) => ({ name, inputSchema: { type: 'object', properties: Object.fromEntries(required.map((k) => [k, { type: 'string' }])), required, ...extra }, annotations: { readOnlyHint } });
const tools = [tool('get_pet', ['petId']), tool('delete_pet', ['petId'], false), tool('get_store', ['id']), tool('get_owner', ['owner_id']), tool('list_visits', ['pet_id', 'clinic']), tool('add_pet', ['name'], false), tool('get_weather', ['city'])];
const calls = nextCalls({ name: 'list_pets' }, tools, { id: 9, name: 'Rex', status: 'sold', owner: { id: 4 } }, { clinic: 'north' });
assert.deepEqual(calls.map((c) => [c.tool.name, c.args, c.whole]), [
  ['get_pet', { petId: 9 }, true],
  ['get_owner', { owner_id: 4 }, true],
  ['list_visits', { pet_id: 9, clinic: 'north' }, true],
  ['delete_pet', { petId: 9 }, true],
]);
assert.deepEqual(nouns('listPetOwners'), ['pet', 'owner']);
assert.deepEqual(nouns('pet-shop__get_store'), ['store']);
const joined = ['shop__get_pet', 'other__get_pet', 'shop__get_store'].map((name) => tool(name, [name.endsWith('pet') ? 'petId' : 'id']));
assert.deepEqual(nextCalls({ name: 'shop__list_pets' }, joined, { id: 9 }).map((c) => c.tool.name), ['shop__get_pet'], 'only of the same server, and about the same');

// Forms: what is entered comes back as what the schema wants.
const fields = fieldsOf({ type: 'object', required: ['n'], properties: { s: { type: 'string', default: 'x' }, n: { type: 'integer', minimum: 1 }, b: { type: 'boolean' }, e: { enum: ['a', 2] }, l: { type: 'array', items: { type: 'string' } }, o: { type: 'object' }, d: { type: 'string', format: 'date' } } }, { n: 3, l: ['p', 'q'], o: { a: 1 } });
assert.deepEqual(fields.map((f) => `${f.key} ${f.kind}`), ['n integer', 's text', 'b flag', 'e choice', 'l lines', 'o json', 'd date']);
const entered = new Map(fields.map((f) => [f.key, entryOf(f)]));
assert.deepEqual(argumentsOf(fields, entered).args, { n: 3, s: 'x', l: ['p', 'q'], o: { a: 1 } });
entered.set('n', '0').set('o', '{').set('b', 'false').set('e', '2');
const second = argumentsOf(fields, entered);
assert.deepEqual([[...second.faults.keys()], second.args.b, second.args.e], [['n', 'o'], false, 2]);
assert.deepEqual([...argumentsOf(fields, new Map()).faults.keys()], ['n']);

// Anything at all: nothing throws, nothing is lost, the same gives the same.
let seed = Number(process.argv[3] ?? 1);
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const pick = (list1) => list1[Math.floor(random() * list1.length)];
const keys = ['id', 'name', 'items', 'data', 'lat', 'lon', 'created_at', 'price', '__proto__', 'constructor', 'toString', 'length', '', 'geometry', 'coordinates', 'type', 'features', 'properties', 'next', 'total', 'node', 'result', 'truncated', 'time', 'location', '\u202e', '<b>'];
const scalars = [null, true, false, 0, -1, 1e308, -1e308, 5e-324, NaN, Infinity, 1767225600, 91, '', 'x', '2026-01-01', '2026-13-45', '2026-01-01T00:00:00Z', '12.5', 'https://example.com', 'javascript:1', '<img src=x onerror=1>', 'FeatureCollection', 'Point', '\ud800', undefined];
const any = (depth) => {
  const r = random();
  if (depth <= 0 || r < 0.3) return pick(scalars);
  if (r < 0.6) return Array.from({ length: Math.floor(random() * 6) }, () => any(depth - 1));
  const object = JSON.parse('{}');
  for (let i = Math.floor(random() * 6); i > 0; i--) Object.defineProperty(object, pick(keys), { value: any(depth - 1), enumerable: true, configurable: true, writable: true });
  return object;
};
const rounds = Number(process.argv[4] ?? 3000);
for (let i = 0; i < rounds; i++) {
  const start = seed;
  try {
    const value = any(5);
    const wild = any(4);
    const read = readResult(pick([{ structuredContent: value }, { content: any(3), structuredContent: value }, { content: [{ type: 'text', text: JSON.stringify(value) ?? '' }] }, value]));
    const plan = choose(read, wild);
    assert.ok(plan.views.includes(plan.first), 'the first View is one of those there are');
    assert.equal(new Set(plan.views).size, plan.views.length);
    assert.deepEqual(choose(read, wild).views, plan.views);
    const rows = plan.found?.rows ?? [];
    assert.ok(rows.every(values.isObject), 'rows are objects');
    for (const c of plan.columns) {
      for (const r of rows) assert.equal(typeof format.cell(values.own(r, c.key), c.kind), 'string');
      assert.equal(new Set(sorted(rows.map((_, j) => j), rows, c, random() < 0.5)).size, rows.length, 'sorting keeps every row');
    }
    if (plan.columns.length > 0) assert.ok(mostTelling(plan.columns, 2).length <= Math.max(2, 0));
    for (const p of plan.places) assert.ok(Math.abs(p.lat) <= 90 && Math.abs(p.lon) <= 180);
    if (plan.places.length > 0) {
      const inside = clusters(plan.places, fit(plan.places, 600, 300), 600, 300);
      assert.equal(inside.reduce((n, c) => n + c.list.length, 0), plan.places.length, 'every place is on a map that fits');
    }
    nextPage({ name: 'x', inputSchema: wild }, values.isObject(value) ? value : {}, read, plan.found);
    nextCalls({ name: 'list_x' }, [{ name: 'get_x', inputSchema: { required: keys, properties: Object.fromEntries(keys.map((k) => [k, {}])) } }, wild], value, {});
    const made = fieldsOf(wild, value);
    argumentsOf(made, new Map(made.map((f) => [f.key, entryOf(f) ?? ''])));
    assert.equal(typeof draw(value).text, 'string');
  } catch (e) {
    throw new Error(`with the seed ${start}: ${e.stack}`);
  }
}
assert.equal({}.polluted, undefined);

for (let i = 0; i < 2000; i++) {
  const a = (random() - 0.5) * 10 ** Math.floor(random() * 30 - 10);
  const b = a + random() * 10 ** Math.floor(random() * 30 - 10);
  const t = ticks(a, b);
  assert.ok(t.length >= 2 && t.length < 20 && t[0] <= a + Math.abs(a) * 1e-9 && t.at(-1) >= b - Math.abs(b) * 1e-9, `ticks cover ${a} to ${b}: ${t}`);
}
const many = Array.from({ length: 10000 }, (_, i) => ({ x: i, y: Math.sin(i / 50) }));
many[4321].y = 99;
assert.ok(thin(many).length <= 602 && thin(many).some((p) => p.y === 99), 'a peak is never lost');
assert.ok(project({ lat: 90, lon: 180 }).y >= -0.01);

// What is deep or long costs no more than it must.
let deep = 'end';
for (let i = 0; i < 5000; i++) deep = i % 2 ? [deep] : { a: deep };
assert.equal(of({ value: deep }).views.includes('raw'), true);
assert.ok(draw(deep).text.length < 20000);
const rows = Array.from({ length: 10000 }, (_, i) => ({ id: i, name: `row ${i}`, price: i / 7, at: new Date(1.7e12 + i * 6e4).toISOString(), lat: (i % 170) - 85, lon: (i % 350) - 175 }));
const before = process.cpuUsage();
const plan = of({ items: rows });
sorted(rows.map((_, i) => i), rows, plan.columns[1], true);
const spent = process.cpuUsage(before).user / 1000;
assert.equal(plan.found.rows.length, 10000);
assert.equal(columnsOf(rows, {}, {}).length, 6);
console.log(JSON.stringify({ examples: Object.keys(examples).length, rounds, tenThousandRowsMs: Math.round(spent) }));
