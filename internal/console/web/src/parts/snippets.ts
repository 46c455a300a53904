// The same call, for other places. Keys are never in it: the user who pastes it puts
// theirs.

export interface Wanted {
  origin: string;
  kind: 'tool' | 'resource' | 'prompt';
  server: string; // "" where name is the exposed one
  name: string;
  args: unknown;
}

export interface Snippet {
  key: string;
  name: string;
  text: string;
}

const shell = (s: string): string => `'${s.replaceAll("'", `'\\''`)}'`;

// snippetsOf gives what there is for a kind. A server's own names are those of
// its own endpoint.
export function snippetsOf(w: Wanted): Snippet[] {
  const code = [
    { key: 'go', name: 'Go', text: go(w) },
    { key: 'ts', name: 'TypeScript', text: typescript(w) },
  ];
  if (w.kind !== 'tool') return code;
  const curl = `curl -s ${w.origin}/mcp/request \\\n  -H "Authorization: Bearer $JUNCTOR_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: w.name, arguments: w.args } }),
  )}`;
  return [
    { key: 'curl', name: 'curl', text: curl },
    { key: 'cli', name: 'junctor', text: `junctor tool call ${w.name} --json ${shell(JSON.stringify(w.args))}` },
    ...code,
  ];
}

const endpoint = (w: Wanted) => `${w.origin}/mcp${w.server ? `/s/${w.server}` : ''}`;

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
  return `// github.com/modelcontextprotocol/go-sdk/mcp
client := mcp.NewClient(&mcp.Implementation{Name: "me", Version: "1"}, nil)
session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
	Endpoint:   ${JSON.stringify(endpoint(w))},
	HTTPClient: withBearer(os.Getenv("JUNCTOR_KEY")), // sets Authorization
}, nil)
if err != nil {
	return err
}
defer session.Close()
result, err := session.${calls[w.kind]}`;
}

function typescript(w: Wanted): string {
  const calls = {
    tool: `callTool({ name: ${JSON.stringify(w.name)}, arguments: ${JSON.stringify(w.args, null, 2)} })`,
    prompt: `getPrompt({ name: ${JSON.stringify(w.name)}, arguments: ${JSON.stringify(w.args, null, 2)} })`,
    resource: `readResource({ uri: ${JSON.stringify(w.name)} })`,
  };
  return `// @modelcontextprotocol/sdk
const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(endpoint(w))}), {
  requestInit: { headers: { Authorization: \`Bearer \${process.env.JUNCTOR_KEY}\` } },
});
const client = new Client({ name: 'me', version: '1' });
await client.connect(transport);
const result = await client.${calls[w.kind]};`;
}
