// A2UI messages held against schemas by ajv: node a2ui_schemas.mjs FILE
// The file has, for each version, schemas by URL and which of them messages are
// of, and messages with whether they should be valid. Prints how many were
// judged, and those that were judged otherwise.
import fs from 'node:fs';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const work = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const judges = {};
for (const [version, resources] of Object.entries(work.resources)) {
  const ajv = new Ajv.default({ strict: false });
  addFormats.default(ajv);
  for (const [url, schema] of Object.entries(resources)) ajv.addSchema(schema, url);
  judges[version] = ajv.getSchema(work.main[version]);
}
const wrong = [];
for (const m of work.messages) {
  const judge = judges[m.version];
  if (judge(m.message) !== m.valid) wrong.push({ ...m, errors: judge.errors?.slice(0, 3) });
}
process.stdout.write(JSON.stringify({ judged: work.messages.length, wrong }));
