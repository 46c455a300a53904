// What kind of thing a value is, said once for all parts of the page.

export const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
export const isScalar = (v) => v === null || ['string', 'number', 'boolean'].includes(typeof v);
export const isEmpty = (v) => v === undefined || v === null || v === '';

// own reads a member that the data itself has: a key such as constructor finds
// nothing else.
export const own = (object, key) => (isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined);

// plainName makes two spellings of one name equal: petId, pet_id and pet-id.
export const plainName = (name) => String(name).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

// words of a name: list_petOwners is list, pet, owners.
export function words(name) {
  const parts = String(name)
    .slice(0, 200)
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  return parts.split(/[^\p{L}\p{N}]+/u).filter(Boolean).map((w) => w.toLowerCase());
}

// humanName is a name as a heading: createdAt is Created at, URLs stay large.
export function humanName(name) {
  const list = words(name);
  if (list.length === 0) return String(name).slice(0, 200);
  const text = list.map((w) => (['id', 'url', 'uri', 'ip', 'uuid', 'api', 'html', 'sha', 'utc', 'co2'].includes(w) ? w.toUpperCase() : w)).join(' ');
  return text[0].toUpperCase() + text.slice(1);
}

const instant = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/;
const day = /^\d{4}-\d{2}-\d{2}$/;
const decimal = /^-?(0|[1-9]\d{0,14})(\.\d{1,12})?$/;

export const isInstant = (v) => typeof v === 'string' && v.length < 40 && instant.test(v) && !Number.isNaN(Date.parse(v.replace(' ', 'T')));
export const isDay = (v) => typeof v === 'string' && day.test(v) && !Number.isNaN(Date.parse(v));
export const isDecimal = (v) => typeof v === 'string' && decimal.test(v);
export const isLink = (v) => typeof v === 'string' && v.length < 2048 && /^https?:\/\/[^\s"'<>]+$/i.test(v) && URL.canParse(v);

// number reads a number, also one that was sent as text; NaN where it is none.
export function number(v) {
  if (typeof v === 'number') return v;
  return isDecimal(v) ? Number(v) : NaN;
}

// epoch is the moment that a count of seconds or milliseconds means, where its
// column is named like one; NaN where it does not look like it.
export function epoch(v) {
  if (typeof v !== 'number') return NaN;
  if (v >= 1e8 && v < 4.2e9) return v * 1000;
  return v >= 1e11 && v < 4.2e12 ? v : NaN;
}

// moment is when a value is, in milliseconds; NaN where it is no time. A time
// without a zone is taken as it is written.
export function moment(v) {
  if (isDay(v)) return Date.parse(v);
  if (!isInstant(v)) return epoch(v);
  const text = v.replace(' ', 'T').replace(/\s+/g, '');
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
}

// zoned says whether a text that is a time says in which zone.
export const zoned = (v) => /(Z|[+-]\d{2}:?\d{2})$/.test(String(v));
