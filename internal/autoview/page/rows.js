// Where the rows are: the list that an answer is about, whatever stands around it.
import { isEmpty, isObject, isScalar, own } from './value.js';
import { along, propertiesOf } from './schema.js';

const lists = ['items', 'data', 'results', 'result', 'rows', 'records', 'entries', 'values', 'list', 'content', 'hits', 'nodes', 'edges', 'features', 'elements', 'objects', 'documents', 'value'];
const about = /^(total|count|size|page|per|limit|offset|next|prev|first|last|has|more|cursor|token|took|time|status|success|ok|code|message|msg|error|meta|links?|_|@|kind|etag|object|version|type|self|href|url|query|start|end|num|incomplete|truncated|pagination|paging|results?$)/i;
const maxColumns = 200;

// rowsOf finds the rows of a value: {rows, path, shape, rest, schema}, or undefined
// where it is one record, or no data. Rows are objects, always.
export function rowsOf(value, schema) {
  if (Array.isArray(value)) return table(value, [], undefined, schema);
  if (!isObject(value)) return undefined;
  return features(value, schema) ?? inColumns(value, [], schema) ?? listIn(value, [], schema) ?? byKey(value, schema);
}

function table(list, path, rest, schema, shape = 'list') {
  return { rows: list.map(asRow), path, shape, rest, schema: along(schema, schema, [...path, undefined]), root: schema };
}

// asRow makes an element a row: what is no object has a column of its own.
function asRow(element) {
  if (isObject(element)) return isObject(own(element, 'node')) && Object.keys(element).length <= 2 ? element.node : element;
  if (Array.isArray(element)) return Object.fromEntries(element.slice(0, maxColumns).map((v, i) => [String(i + 1), v]));
  return { value: element };
}

// features are those of GeoJSON.
function features(value, schema) {
  const list = own(value, 'features');
  if (own(value, 'type') !== 'FeatureCollection' || !Array.isArray(list)) return undefined;
  const found = table(list, ['features'], without(value, 'features'), schema, 'features');
  found.rows = list.map((f) => ({ ...(isObject(own(f, 'properties')) ? f.properties : {}), geometry: own(f, 'geometry') }));
  found.schema = along(schema, schema, ['features', undefined, 'properties']);
  return found;
}

// inColumns turns lists of one length that stand side by side into rows: a time
// and what was measured then.
function inColumns(value, path, schema) {
  for (const [key, one] of [[undefined, value], ...Object.entries(value).slice(0, 50)]) {
    if (!isObject(one)) continue;
    const columns = Object.entries(one).filter(([, v]) => Array.isArray(v)).slice(0, maxColumns);
    const length = columns[0]?.[1].length ?? 0;
    if (columns.length < 2 || length < 2) continue;
    if (!columns.every(([, v]) => v.length === length && v.slice(0, 20).every(isScalar))) continue;
    const others = Object.values(one).length - columns.length;
    if (others > columns.length) continue;
    const rows = Array.from({ length }, (_, i) => Object.fromEntries(columns.map(([k, v]) => [k, v[i]])));
    const rest = key === undefined ? Object.fromEntries(Object.entries(value).filter(([, v]) => !Array.isArray(v))) : without(value, key);
    const at = key === undefined ? path : [...path, key];
    const properties = Object.fromEntries(propertiesOf(along(schema, schema, at), schema).map(([k]) => [k, along(schema, schema, [...at, k, undefined])]));
    return { rows, path: at, shape: 'columns', rest, schema: { properties }, root: schema };
  }
  return undefined;
}

// listIn looks for the one list that the rest of an object only speaks about.
function listIn(value, path, schema) {
  const entries = Object.entries(value).slice(0, 500);
  const found = entries.filter(([, v]) => Array.isArray(v) && (v.length === 0 || v.slice(0, 20).some((x) => !isScalar(x)) || entries.length <= 3));
  const named = found.filter(([k]) => lists.includes(k.toLowerCase()));
  const candidates = named.length > 0 ? named : found;
  if (candidates.length > 0) {
    const [key, list] = candidates.reduce((a, b) => (b[1].length > a[1].length ? b : a));
    const others = entries.filter(([k]) => k !== key && !about.test(k));
    const record = ['id', 'uuid', 'name', 'title'].some((k) => isScalar(own(value, k)) && !isEmpty(own(value, k)));
    const filled = found.filter(([, v]) => v.length > 0).length;
    if (!record && others.length <= 2 && (filled <= 1 || named.length > 0)) return table(list, [...path, key], without(value, key), schema);
    return undefined;
  }
  if (path.length >= 3) return undefined;
  for (const [key, one] of entries) { // GraphQL and envelopes put the list deeper
    if (!isObject(one) || entries.some(([k]) => k !== key && !about.test(k))) continue;
    const deeper = listIn(one, [...path, key], schema);
    if (deeper) return { ...deeper, rest: { ...without(value, key), ...deeper.rest } };
  }
  return undefined;
}

// byKey takes an object of objects, or of numbers, whose keys are data: what its
// schema does not name, and what all look alike.
function byKey(value, schema) {
  const places = [[[], value], ...Object.entries(value).filter(([, v]) => isObject(v)).slice(0, 20).map(([k, v]) => [[k], v])];
  for (const [path, object] of places) {
    const entries = Object.entries(object);
    const declared = new Set(propertiesOf(along(schema, schema, path), schema).map(([k]) => k));
    if (entries.length < 3 || entries.some(([k]) => declared.has(k))) continue;
    const others = path.length === 0 ? 0 : Object.keys(value).filter((k) => k !== path[0] && !isScalar(value[k])).length;
    if (others > 0 || !(alike(entries) || (path.length > 0 && entries.every(([, v]) => typeof v === 'number')))) continue;
    const rows = entries.map(([key, v]) => ({ key, ...(isObject(v) ? v : { value: v }) }));
    return { rows, path, shape: 'map', rest: path.length === 0 ? {} : without(value, path[0]), schema: along(schema, schema, [...path, '']), root: schema };
  }
  return undefined;
}

function alike(entries) {
  if (!entries.every(([, v]) => isObject(v))) return false;
  const first = Object.keys(entries[0][1]);
  return first.length > 0 && entries.slice(1, 50).every(([, v]) => first.filter((k) => Object.hasOwn(v, k)).length * 2 >= first.length);
}

function without(object, key) {
  return Object.fromEntries(Object.entries(object).filter(([k]) => k !== key));
}
