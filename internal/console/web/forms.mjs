// Writes the schemas of the console's forms, from the OpenAPI document of the API.
// node forms.mjs FILE
import { readFileSync, writeFileSync } from 'node:fs';

const { schemas } = JSON.parse(readFileSync(new URL('../../admin/testdata/openapi.json', import.meta.url), 'utf8')).components;

// A setting is a member that a server is read with and that a change of it has. Those of
// an auto-generated server are read in its member api.
const { api: _, ...read } = schemas.Server.properties;
const settings = (names) => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(schemas.ServerPatchBody.properties).filter(([name]) => names.includes(name))),
});
const forms = {
  server: settings(Object.keys(read)),
  api: settings(Object.keys(schemas.API.properties).filter((name) => !(name in read))),
  auth: schemas.AuthBody,
  override: schemas.Override,
};
writeFileSync(process.argv[2], `${JSON.stringify(forms, null, 2)}\n`);
