// The same call, for other programs: each text runs as it is shown. Keys are never in it:
// all texts read the key from JUNCTOR_KEY.

export interface Wanted {
  origin: string;
  kind: 'tool' | 'resource' | 'prompt';
  server: string; // "" where name is the exposed one
  name: string; // of a resource: its URI
  args: unknown;
}

export interface Snippet {
  key: string;
  name: string;
  text: string;
  how: string; // the commands that run it
}

const shell = (s: string): string => `'${s.replaceAll("'", `'\\''`)}'`;

// snippetsOf gives what there is for a kind. A server's own names are those of its own
// endpoint.
export function snippetsOf(w: Wanted): Snippet[] {
  const sdk = [
    { key: 'go', name: 'Go', text: go(w), how: `go mod init example && go mod tidy && go run .` },
    { key: 'ts', name: 'TypeScript', text: typescript(w), how: 'npm install @modelcontextprotocol/sdk && node call.mts' },
  ];
  if (w.kind !== 'tool') return sdk;
  const cli = `junctor tool call ${w.name} --json ${shell(JSON.stringify(w.args))}`;
  return [
    { key: 'curl', name: 'curl', text: curl(w), how: '' },
    { key: 'cli', name: 'junctor', text: cli, how: '' },
    ...sdk,
    { key: 'python', name: 'Python', text: python(w), how: 'python3 call.py' },
  ];
}

const endpoint = (w: Wanted) => `${w.origin}/mcp${w.server ? `/s/${w.server}` : ''}`;
const request = (w: Wanted) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: w.name, arguments: w.args } });

const curl = (w: Wanted): string =>
  `curl -s ${w.origin}/mcp/request \\\n  -H "Authorization: Bearer $JUNCTOR_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify(request(w)))}`;

// The string literals of JSON are literals of Python too, and of Go.
const python = (w: Wanted): string => `import json
import os
import urllib.request

call = json.loads(${JSON.stringify(JSON.stringify(request(w)))})
request = urllib.request.Request(
    ${JSON.stringify(`${w.origin}/mcp/request`)},
    data=json.dumps(call).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["JUNCTOR_KEY"],
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2, ensure_ascii=False))`;

function go(w: Wanted): string {
  const calls = {
    tool: `CallTool(ctx, &mcp.CallToolParams{
		Name:      ${JSON.stringify(w.name)},
		Arguments: json.RawMessage(${JSON.stringify(JSON.stringify(w.args))}),
	})`,
    prompt: `GetPrompt(ctx, &mcp.GetPromptParams{
		Name:      ${JSON.stringify(w.name)},
		Arguments: map[string]string{${Object.entries((w.args ?? {}) as object)
      .map(([k, v]) => `${JSON.stringify(k)}: ${JSON.stringify(String(v))}`)
      .join(', ')}},
	})`,
    resource: `ReadResource(ctx, &mcp.ReadResourceParams{URI: ${JSON.stringify(w.name)}})`,
  };
  return `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds the key to each request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   ${JSON.stringify(endpoint(w))},
		HTTPClient: &http.Client{Transport: bearer(os.Getenv("JUNCTOR_KEY"))},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.${calls[w.kind]}
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	session.Close()
}`;
}

const indented = (v: unknown) => JSON.stringify(v, null, 2).replaceAll('\n', '\n  ');

function typescript(w: Wanted): string {
  const calls = {
    tool: `callTool({
  name: ${JSON.stringify(w.name)},
  arguments: ${indented(w.args)},
})`,
    prompt: `getPrompt({
  name: ${JSON.stringify(w.name)},
  arguments: ${indented(w.args)},
})`,
    resource: `readResource({ uri: ${JSON.stringify(w.name)} })`,
  };
  return `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(endpoint(w))}), {
  requestInit: { headers: { Authorization: \`Bearer \${process.env.JUNCTOR_KEY}\` } },
});
const client = new Client({ name: 'example', version: '1' });
await client.connect(transport);
const result = await client.${calls[w.kind]};
console.log(JSON.stringify(result, null, 2));
await client.close();`;
}
