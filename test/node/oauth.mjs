// Goes from a bare 401 to a successful call with either generation of the
// official TypeScript client, as a program does whose person signs in with a
// browser: node oauth.mjs SETTING, a JSON object
//   client  1 or 2, the generation
//   mode    legacy or modern
//   url     the endpoint
//   leeway  seconds that a token is good beyond its end; absent, nobody waits for that
//   tool    to call, with { text } as arguments
//   browser where the person's browser is, which is told the address in `to`; absent, they need not sign in
//   document where the program says who it is; absent, it registers itself
//   lose    the access token becomes worthless: a second call has to do with another
//   revoke  an address that takes the consent away: a third call has to do with another
// It prints one JSON object; the Go test judges it.
import * as second from '@modelcontextprotocol/client';
import { Client as First } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const set = JSON.parse(process.argv[2]);
const redirect = 'http://127.0.0.1:9/callback';
const seen = { statuses: [], scopes: [], tokens: [], secrets: [] };

// What a program keeps between steps.
const kept = {};
let leads; // where the person is sent
const authProvider = {
  get redirectUrl() {
    return redirect;
  },
  get clientMetadata() {
    return { client_name: 'oauth.mjs', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' };
  },
  clientMetadataUrl: set.document,
  clientInformation: () => kept.client,
  saveClientInformation: client => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: tokens => {
    kept.tokens = tokens;
    seen.secrets.push(tokens.access_token, tokens.refresh_token);
    seen.tokens.push(tokens.scope);
  },
  redirectToAuthorization: url => {
    leads = url;
    seen.scopes.push(url.searchParams.get('scope'));
  },
  saveCodeVerifier: verifier => {
    kept.verifier = verifier;
    seen.secrets.push(verifier);
  },
  codeVerifier: () => kept.verifier,
  invalidateCredentials: what => {
    if (what === 'tokens' || what === 'all') delete kept.tokens;
    if (what === 'client' || what === 'all') delete kept.client;
  },
  discoveryState: () => kept.discovery,
  saveDiscoveryState: state => void (kept.discovery = state),
};

// Notes how the endpoint itself answers.
const watched = async (url, init) => {
  const res = await fetch(url, init);
  // Streams too: one that opens again after the token expired renews it before any POST.
  if (String(url) === set.url) seen.statuses.push(res.status);
  return res;
};

const info = { name: 'oauth', version: '1' };
const mode = set.mode === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const client = () => (set.client === 1 ? new First(info) : new second.Client(info, { versionNegotiation: { mode } }));
const transport = () => {
  const options = { authProvider, fetch: watched };
  return set.client === 1 ? new StreamableHTTPClientTransport(new URL(set.url), options) : new second.StreamableHTTPClientTransport(new URL(set.url), options);
};
const refused = error => error instanceof UnauthorizedError || error instanceof second.UnauthorizedError;

// The person's browser: they consent, and come back with a code.
async function consent(wire) {
  const to = set.browser ? `${set.browser}?to=${encodeURIComponent(leads)}` : leads;
  const res = await fetch(to, { redirect: 'manual' });
  const back = new URL(res.headers.get('location'));
  seen.secrets.push(back.searchParams.get('code'));
  await wire.finishAuth(set.client === 1 ? back.searchParams.get('code') : back.searchParams);
}

// Does something, and sends the person to sign in where the client wants that.
async function signedIn(wire, act) {
  try {
    return await act();
  } catch (error) {
    if (!refused(error)) throw error;
    await consent(wire());
    return await act();
  }
}

let c, wire;
await signedIn(
  () => wire,
  async () => {
    [c, wire] = [client(), transport()];
    await c.connect(wire);
  },
);
const call = text => {
  const params = { name: set.tool, arguments: { text } };
  return signedIn(
    () => wire,
    () => c.callTool(params),
  );
};
seen.first = await call('first');
seen.session = wire.sessionId ?? '';
if (set.leeway) {
  const { exp } = JSON.parse(Buffer.from(kept.tokens.access_token.split('.')[1], 'base64url'));
  await new Promise(resolve => setTimeout(resolve, (exp + set.leeway + 1) * 1000 - Date.now()));
  seen.second = await call('second');
  seen.sessionAfter = wire.sessionId ?? '';
}
if (set.lose) {
  kept.tokens = { ...kept.tokens, access_token: 'jca_worthless' };
  seen.second = await call('second');
}
if (set.revoke) {
  await fetch(set.revoke, { method: 'POST' });
  seen.third = await call('third');
}
seen.client = kept.client?.client_id;
await c.close();
console.log(JSON.stringify(seen));
