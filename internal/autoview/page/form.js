// The form of a call, made of the tool's input schema.
import { h } from './dom.js';
import { isEmpty, isObject, isScalar, own, humanName } from './value.js';
import { propertiesOf, resolve, typesOf } from './schema.js';

// fieldsOf describes the inputs of a schema: {key, title, note, kind, required,
// choices, value}. Kinds: text, long, number, integer, flag, choice, date, time,
// lines and json.
export function fieldsOf(schema, args = {}) {
  const root = resolve(schema, schema);
  const required = new Set(Array.isArray(own(root, 'required')) ? root.required : []);
  const fields = propertiesOf(root, schema).slice(0, 200).map(([key, one]) => ({
    key,
    title: typeof own(one, 'title') === 'string' && one.title ? one.title.slice(0, 80) : humanName(key),
    note: typeof own(one, 'description') === 'string' ? one.description.slice(0, 400) : '',
    kind: inputKind(one, schema),
    required: required.has(key),
    choices: Array.isArray(own(one, 'enum')) ? one.enum.filter(isScalar).slice(0, 500) : [],
    least: Number.isFinite(own(one, 'minimum')) ? one.minimum : undefined,
    most: Number.isFinite(own(one, 'maximum')) ? one.maximum : undefined,
    value: own(args, key) ?? own(one, 'default'),
  }));
  return [...fields.filter((f) => f.required), ...fields.filter((f) => !f.required)];
}

function inputKind(schema, root) {
  const types = typesOf(schema);
  if (Array.isArray(own(schema, 'enum')) && schema.enum.every(isScalar)) return 'choice';
  if (types.length !== 1) return types.length === 0 && !own(schema, 'properties') ? 'text' : 'json';
  const format = own(schema, 'format');
  switch (types[0]) {
    case 'boolean':
      return 'flag';
    case 'integer':
    case 'number':
      return types[0];
    case 'array': {
      const inner = resolve(own(schema, 'items'), root);
      return typesOf(inner).every((t) => t === 'string') && typesOf(inner).length === 1 ? 'lines' : 'json';
    }
    case 'string':
      if (format === 'date') return 'date';
      if (format === 'date-time') return 'time';
      return Number(own(schema, 'maxLength')) > 200 ? 'long' : 'text';
    default:
      return 'json';
  }
}

// argumentsOf reads what was entered, by key: {args, faults}. What is empty is left
// out; what a field cannot mean is a fault with its reason.
export function argumentsOf(fields, entered) {
  const args = [];
  const faults = new Map();
  for (const f of fields) {
    const raw = entered.get(f.key);
    if (f.kind !== 'flag' && (raw === undefined || raw.trim() === '')) {
      if (f.required) faults.set(f.key, 'This is needed.');
      continue;
    }
    const [value, fault] = read(f, raw);
    if (fault) faults.set(f.key, fault);
    else if (value !== undefined) args.push([f.key, value]);
  }
  return { args: Object.fromEntries(args), faults };
}

function read(f, raw) {
  switch (f.kind) {
    case 'flag':
      return [raw === '' || raw === undefined ? undefined : raw === 'true'];
    case 'number':
    case 'integer': {
      const n = Number(raw);
      if (!Number.isFinite(n)) return [undefined, 'This is a number.'];
      if (f.kind === 'integer' && !Number.isInteger(n)) return [undefined, 'This is a whole number.'];
      if (n < f.least || n > f.most) return [undefined, `This is ${f.least !== undefined ? `at least ${f.least}` : ''}${f.least !== undefined && f.most !== undefined ? ' and ' : ''}${f.most !== undefined ? `at most ${f.most}` : ''}.`];
      return [n];
    }
    case 'choice':
      return [f.choices.find((c) => String(c) === raw) ?? raw];
    case 'lines':
      return [raw.split('\n').map((l) => l.trim()).filter(Boolean)];
    case 'json':
      try {
        return [JSON.parse(raw)];
      } catch {
        return [undefined, 'This is not JSON: write it as {"a": 1} or ["a", "b"].'];
      }
    case 'time':
      return [/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(raw) ? `${raw}:00Z` : raw];
    default:
      return [raw];
  }
}

// entryOf is a value as it stands in its field.
export function entryOf(f) {
  const v = f.value;
  if (isEmpty(v)) return '';
  if (f.kind === 'lines' && Array.isArray(v)) return v.map(String).join('\n');
  if (f.kind === 'json') return JSON.stringify(v, null, 2);
  return isScalar(v) ? String(v) : JSON.stringify(v);
}

// drawForm gives the form; submit gets the arguments. safe says that the tool
// changes nothing: others are asked about once more.
export function drawForm({ tool, args, safe, submit, fault }) {
  const fields = fieldsOf(isObject(own(tool, 'inputSchema')) ? tool.inputSchema : {}, args);
  const entered = new Map(fields.map((f) => [f.key, entryOf(f)]));
  const notes = new Map();
  let sure = safe;
  const button = h('button', { type: 'submit', class: 'main' }, 'Call');
  const rows = fields.map((f) => {
    const id = `f-${fields.indexOf(f)}`;
    const note = h('p', { class: 'fault', id: `${id}-fault` });
    notes.set(f.key, note);
    return h('div', { class: 'entry' },
      h('label', { for: id }, f.title, f.required && h('span', { class: 'must', 'aria-hidden': 'true' }, ' *')),
      control(f, id, entered),
      f.note && h('p', { class: 'note', id: `${id}-note` }, f.note),
      note);
  });
  const warning = h('p', { class: 'fault', role: 'alert' }, fault ?? '');
  return h('form', { class: 'form', novalidate: true, onsubmit: (e) => {
    e.preventDefault();
    const read1 = argumentsOf(fields, entered);
    for (const [key, note] of notes) note.textContent = read1.faults.get(key) ?? '';
    if (read1.faults.size > 0) return;
    if (!sure) {
      sure = true;
      warning.textContent = 'This call may change something. Press once more to make it.';
      button.textContent = 'Call, and change it';
      return;
    }
    submit(read1.args);
  } }, own(tool, 'description') && h('p', { class: 'about' }, String(tool.description).slice(0, 600)), fields.length === 0 && h('p', { class: 'faint' }, 'This tool takes no arguments.'), rows, warning, h('div', {}, button));
}

function control(f, id, entered) {
  const common = { id, name: f.key, required: f.required, 'aria-describedby': `${f.note ? `${id}-note ` : ''}${id}-fault` };
  const take = (e) => entered.set(f.key, e.target.value);
  if (f.kind === 'choice' || f.kind === 'flag') {
    const options = f.kind === 'flag' ? [['true', 'Yes'], ['false', 'No']] : f.choices.map((c) => [String(c), c === null ? 'none' : String(c)]);
    return h('select', { ...common, onchange: take }, h('option', { value: '' }, f.required ? 'Choose' : 'Not given'), options.map(([v, text]) => h('option', { value: v, selected: v === entered.get(f.key) }, text)));
  }
  if (f.kind === 'lines' || f.kind === 'json' || f.kind === 'long') {
    return h('textarea', { ...common, rows: 3, spellcheck: 'false', placeholder: f.kind === 'lines' ? 'One on each line' : f.kind === 'json' ? 'JSON' : undefined, value: entered.get(f.key), oninput: take });
  }
  const types = { number: 'number', integer: 'number', date: 'date' };
  return h('input', { ...common, type: types[f.kind] ?? 'text', step: f.kind === 'number' ? 'any' : undefined, min: f.least, max: f.most, autocomplete: 'off', placeholder: f.kind === 'time' ? '2026-01-31T12:00:00Z' : undefined, value: entered.get(f.key), oninput: take });
}
