// JSON Schemas as hints: they name, order and describe what is there. The data is
// believed where the two disagree.
import { isObject, own } from './value.js';

// resolve follows references inside the document and takes the first shape that
// says something of combinations; {} where there is none.
export function resolve(schema, root, depth = 0) {
  if (!isObject(schema) || depth > 12) return {};
  const ref = own(schema, '$ref');
  if (typeof ref === 'string') return resolve(pointed(root, ref), root, depth + 1);
  const shapes = ['allOf', 'anyOf', 'oneOf'].flatMap((k) => (Array.isArray(own(schema, k)) ? schema[k].slice(0, 20) : []));
  if (shapes.length === 0 || isObject(own(schema, 'properties')) || own(schema, 'items')) return schema;
  let merged = { ...schema };
  for (const shape of shapes) {
    const one = resolve(shape, root, depth + 1);
    if (own(one, 'type') === 'null') continue;
    const properties = { ...own(one, 'properties'), ...own(merged, 'properties') };
    merged = { ...one, ...merged };
    if (Object.keys(properties).length > 0) merged.properties = properties;
    if (!Array.isArray(own(schema, 'allOf'))) break;
  }
  return merged;
}

function pointed(root, ref) {
  if (!ref.startsWith('#')) return {};
  let at = root;
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    at = own(at, part.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return at;
}

// below is the schema of a member, or of the elements where key is undefined.
export function below(schema, root, key) {
  const s = resolve(schema, root);
  if (key === undefined) return resolve(Array.isArray(own(s, 'items')) ? s.items[0] : own(s, 'items'), root);
  const named = own(own(s, 'properties'), key);
  return resolve(named ?? own(s, 'additionalProperties'), root);
}

// along walks a path of keys; undefined in it steps into an array.
export function along(schema, root, path) {
  return path.reduce((s, key) => below(s, root, key), resolve(schema, root));
}

// typesOf are the types that a schema allows, without null.
export function typesOf(schema) {
  const type = own(schema, 'type');
  return (Array.isArray(type) ? type : [type]).filter((t) => typeof t === 'string' && t !== 'null');
}

// propertiesOf are names and schemas of an object's members, in their order.
export function propertiesOf(schema, root) {
  const s = resolve(schema, root);
  return Object.entries(isObject(own(s, 'properties')) ? s.properties : {}).map(([key, one]) => [key, resolve(one, root)]);
}
