// The next call: the next page of a list, and the tools that take what a row has.
import { isEmpty, isObject, isScalar, own, plainName, words } from './value.js';
import { propertiesOf } from './schema.js';

const cursorOut = ['nextcursor', 'nextpagetoken', 'nexttoken', 'nextpage', 'cursor', 'endcursor', 'continuationtoken', 'next', 'after', 'pagetoken'];
const cursorIn = ['cursor', 'pagetoken', 'nextpagetoken', 'nexttoken', 'startingafter', 'after', 'continuationtoken', 'token', 'nextcursor'];
const pageIn = ['page', 'pagenumber', 'pageno', 'pageindex', 'p'];
const offsetIn = ['offset', 'skip', 'start', 'startindex', 'startat'];
const sizeIn = ['perpage', 'limit', 'pagesize', 'maxresults', 'size', 'count', 'first', 'top'];

// nextPage gives the arguments of the next page, or undefined where there is none
// or nobody could know.
export function nextPage(tool, args, read, found) {
  if (!found) return undefined;
  if (read.next) return { ...args, ...read.next };
  const inputs = propertiesOf(own(tool, 'inputSchema'), own(tool, 'inputSchema'));
  const named = (list) => inputs.find(([key]) => list.includes(plainName(key)))?.[0];
  const around = isObject(found.rest) ? flatten(found.rest) : [];
  const said = (list) => around.find(([key, v]) => list.includes(plainName(key)) && isScalar(v));
  if (said(['hasmore', 'hasnextpage', 'more'])?.[1] === false || said(['islast', 'lastpage', 'last'])?.[1] === true) return undefined;
  const cursor = named(cursorIn);
  const value = said(cursorOut);
  if (cursor && value) return isEmpty(value[1]) || value[1] === false || String(value[1]).includes('://') || value[1] === own(args, cursor) ? undefined : { ...args, [cursor]: value[1] };
  const counted = named(pageIn) ?? named(offsetIn);
  if (!counted || found.rows.length === 0) return undefined;
  const size = named(sizeIn);
  const wanted = Number(own(args, size) ?? own(inputs.find(([k]) => k === size)?.[1], 'default'));
  const total = Number(said(['total', 'totalcount', 'totalresults', 'totalitems'])?.[1]);
  const isPage = pageIn.includes(plainName(counted));
  const now = Number(own(args, counted) ?? own(inputs.find(([k]) => k === counted)?.[1], 'default') ?? (isPage ? 1 : 0));
  if (!Number.isFinite(now)) return undefined;
  if (wanted > 0 && found.rows.length < wanted && read.cuts.length === 0) return undefined;
  const seen = isPage ? now * (wanted > 0 ? wanted : found.rows.length) : now + found.rows.length;
  if (Number.isFinite(total) && seen >= total) return undefined;
  return { ...args, [counted]: isPage ? now + 1 : now + found.rows.length };
}

// flatten lists the members of an object and of those right below it.
function flatten(object) {
  return Object.entries(object).slice(0, 100).flatMap(([k, v]) => (isObject(v) ? Object.entries(v).slice(0, 100) : [[k, v]]));
}

const verbs = new Set(['get', 'list', 'find', 'search', 'show', 'read', 'fetch', 'describe', 'create', 'add', 'update', 'patch', 'put', 'delete', 'remove', 'set', 'all', 'by', 'for', 'of', 'the', 'id', 'to', 'from', 'in', 'a', 'and', 'with', 'my', 'v1', 'v2']);

// Where servers are joined, a tool's name begins with its server's.
const joined = /^([a-z][a-z0-9-]*)__/;

// ownName is a tool's name without that of its server.
export const ownName = (name) => String(name).replace(joined, '');

const serverOf = (name) => joined.exec(String(name))?.[1];

// nouns are the words of a tool's name that say what it is about, in the singular.
export function nouns(name) {
  return words(ownName(name)).filter((w) => !verbs.has(w)).map(singular);
}

function singular(word) {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') && word.length > 3 ? word.slice(0, -1) : word;
}

// readsOnly says whether a tool may be called with a click: its server says that
// it changes nothing.
export const readsOnly = (tool) => own(own(tool, 'annotations'), 'readOnlyHint') === true;

// nextCalls are the tools that a row leads to, the likeliest first:
// {tool, args, whole}. whole says that nothing that is required is missing.
// Arguments that the row does not have are taken from the call that led here.
export function nextCalls(tool, tools, row, args = {}) {
  if (!isObject(row)) return [];
  const here = new Set(nouns(own(tool, 'name') ?? ''));
  const found = [];
  for (const other of Array.isArray(tools) ? tools.slice(0, 5000) : []) {
    if (!isObject(other) || typeof other.name !== 'string' || other.name === own(tool, 'name') || serverOf(other.name) !== serverOf(own(tool, 'name'))) continue;
    const call = fillFrom(other, row, here, args);
    if (call) found.push({ ...call, points: points(other, call, here) });
  }
  found.sort((a, b) => b.points - a.points || (a.tool.name < b.tool.name ? -1 : 1));
  return found.slice(0, 8).map(({ tool: t, args: a, whole }) => ({ tool: t, args: a, whole }));
}

function fillFrom(other, row, here, args) {
  const schema = own(other, 'inputSchema');
  const required = new Set(Array.isArray(own(schema, 'required')) ? schema.required.filter((k) => typeof k === 'string') : []);
  if (required.size === 0 || required.size > 20) return undefined;
  const filled = [];
  let identified = false;
  let whole = true;
  for (const [key] of propertiesOf(schema, schema)) {
    if (!required.has(key)) continue;
    const value = ofRow(key, row, here, other.name);
    if (value !== undefined) {
      filled.push([key, value.value]);
      identified ||= value.identifies;
    } else if (isScalar(own(args, key)) && own(args, key) !== undefined) filled.push([key, args[key]]);
    else whole = false;
  }
  return identified ? { tool: other, args: Object.fromEntries(filled), whole } : undefined;
}

// ofRow is what a row has for a parameter. It identifies the row where it is its
// id, or a reference to something else; a name that is the same by chance, such as
// status, only fills in.
function ofRow(key, row, here, other) {
  const there = nouns(other);
  const makes = words(ownName(other)).some((w) => ['create', 'add', 'new', 'insert', 'post', 'register'].includes(w)); // what is new has another id
  const want = plainName(key);
  const parts = words(key).map(singular);
  const last = parts.at(-1);
  const isName = ['id', 'uuid', 'key', 'slug', 'code', 'name', 'login', 'number', 'sha', 'username', 'symbol'].includes(last);
  const member = (test) => Object.keys(row).slice(0, 500).find((k) => isScalar(row[k]) && !isEmpty(row[k]) && test(plainName(k)));
  const same = member((k) => k === want);
  const about = parts.slice(0, -1).filter((w) => w !== 'by');
  if (same !== undefined) {
    const bare = about.length === 0; // id alone is this row's only where the tool is about the same
    return { value: row[same], identifies: isName && (!bare || (shares(here, there) && !makes)) };
  }
  if (!isName || about.length === 0 || !about.some((w) => here.has(w))) {
    const object = own(row, about.join('_')) ?? own(row, about[0]); // owner_id of a row with an owner
    const inner = isName && about.length > 0 && isObject(object) ? own(object, last) : undefined;
    return isScalar(inner) && !isEmpty(inner) ? { value: inner, identifies: true } : undefined;
  }
  const bare = member((k) => k === last);
  return bare === undefined ? undefined : { value: row[bare], identifies: true };
}

const shares = (here, there) => there.some((w) => here.has(w));

function points(tool, call, here) {
  const about = nouns(tool.name);
  let p = call.whole ? 4 : 0;
  if (readsOnly(tool)) p += 6;
  if (shares(here, about)) p += 2;
  if (about.every((w) => here.has(w))) p += 2; // get_pet rather than get_pet_photo
  if (words(ownName(tool.name)).some((w) => ['delete', 'remove', 'destroy'].includes(w)) || own(own(tool, 'annotations'), 'destructiveHint') === true) p -= 3;
  return p - words(tool.name).length / 10;
}
