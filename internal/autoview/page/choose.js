// Which Views an answer can have, and which of them is shown first: a pure
// function of data and schema, the same for the same, and never a failure.
import { isEmpty, isObject } from './value.js';
import { axisOf, columnsOf, measures } from './columns.js';
import { placesOf } from './places.js';
import { rowsOf } from './rows.js';

// choose gives {views, first, found, columns, places, axis}. views are some of
// table, record, chart, map, text and raw, in the order of their tabs.
export function choose(read, schema) {
  const value = read.value;
  const found = read.failed ? undefined : rowsOf(value, schema);
  const plan = { views: [], first: 'text', found, columns: [], places: [], axis: undefined };
  if (found) {
    plan.columns = columnsOf(found.rows, found.schema, found.root);
    plan.places = placesOf(found.rows);
    plan.axis = axisOf(plan.columns, found.rows);
    plan.views.push('table');
    if (isObject(found.rest) && Object.values(found.rest).some((v) => !isEmpty(v))) plan.views.push('record');
    if (plan.axis && found.rows.length > 1 && measures(plan.columns).length > 0) plan.views.push('chart');
  } else if (isObject(value) && !read.failed) {
    plan.places = placesOf([value]);
    if (Object.keys(value).length > 0) plan.views.push('record');
  }
  if (plan.places.length > 0) plan.views.push('map');
  if (plan.views.length === 0 || (read.texts.length > 0 && value === undefined) || read.media.length > 0 || read.links.length > 0) plan.views.push('text');
  if (read.whole !== undefined && read.whole !== null) plan.views.push('raw');
  plan.first = firstOf(plan, read);
  return plan;
}

function firstOf(plan, read) {
  const { found, views } = plan;
  if (read.failed || !views.some((v) => ['table', 'record'].includes(v))) return 'text';
  if (!found) return read.media.length > 0 ? 'text' : 'record';
  if (views.includes('map') && (found.shape === 'features' || (plan.columns.length <= 6 && plan.places.length >= found.rows.length * 0.8))) return 'map';
  if (views.includes('chart') && isSeries(plan)) return 'chart';
  return 'table';
}

// isSeries says whether rows are a course of numbers: over time, or beside a name
// and nothing else.
function isSeries({ axis, columns, found }) {
  const drawn = measures(columns);
  const others = columns.filter((c) => c.key !== axis.key && !drawn.some((m) => m.key === c.key) && c.distinct > 1);
  if (axis.time) return found.rows.length >= 5 && others.length === 0;
  return (found.shape === 'map' || found.shape === 'columns') && drawn.length === 1 && others.length === 0 && found.rows.length >= 3;
}
