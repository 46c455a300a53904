// Where rows are on the earth, in whichever of the usual ways they say it.
import { isObject, number, own, plainName } from './value.js';
import { isLatitude, isLongitude } from './columns.js';

const nested = new Set(['location', 'position', 'coordinates', 'coords', 'geo', 'geometry', 'point', 'latlng', 'latlon', 'center', 'centroid', 'geopoint', 'address', 'place']);

// placeOf is where a row is: {lat, lon}, or undefined.
export function placeOf(row) {
  return pair(row) ?? geometry(row) ?? inside(row);
}

function pair(object) {
  if (!isObject(object)) return undefined;
  let lat;
  let lon;
  for (const key of Object.keys(object).slice(0, 500)) {
    if (lat === undefined && isLatitude(key)) lat = number(object[key]);
    else if (lon === undefined && isLongitude(key)) lon = number(object[key]);
  }
  return valid(lat, lon);
}

// geometry is GeoJSON: longitude first. Of lines and areas it is the first corner.
function geometry(object) {
  if (typeof own(object, 'type') !== 'string') return undefined;
  let at = own(object, 'coordinates');
  for (let depth = 0; depth < 4 && Array.isArray(at) && Array.isArray(at[0]); depth++) at = at[0];
  return Array.isArray(at) && at.length >= 2 ? valid(number(at[1]), number(at[0])) : undefined;
}

// inside looks into what a row holds, first where places usually stand.
function inside(row, depth = 0) {
  if (!isObject(row)) return undefined;
  const keys = Object.keys(row).slice(0, 200).filter((k) => typeof row[k] === 'object' || nested.has(plainName(k)));
  for (const key of [...keys.filter((k) => nested.has(plainName(k))), ...keys.filter((k) => !nested.has(plainName(k)))]) {
    const at = row[key];
    const found = pair(at) ?? geometry(at) ?? (depth < 1 ? inside(at, depth + 1) : undefined) ?? inText(at);
    if (found) return found;
  }
  return undefined;
}

function inText(at) {
  const text = typeof at === 'string' ? /^\s*(-?\d{1,2}\.\d+)\s*,\s*(-?\d{1,3}\.\d+)\s*$/.exec(at.slice(0, 60)) : null;
  return text ? valid(Number(text[1]), Number(text[2])) : undefined;
}

function valid(lat, lon) {
  return Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && (lat !== 0 || lon !== 0) ? { lat, lon } : undefined;
}

// placesOf are all that are somewhere: {lat, lon, index}.
export function placesOf(rows) {
  const found = [];
  rows.forEach((row, index) => {
    const at = placeOf(row);
    if (at) found.push({ ...at, index });
  });
  return found;
}
