// The same call, for other places. Keys are never in it: whoever pastes it puts
// theirs.

export interface Wanted {
  origin: string;
  name: string;
  args: unknown;
}

const shell = (s: string): string => `'${s.replaceAll("'", `'\\''`)}'`;

export const snippets: [string, string, (w: Wanted) => string][] = [
  [
    'curl',
    'curl',
    ({ origin, name, args }) =>
      `curl -s ${origin}/mcp/request \\\n  -H "Authorization: Bearer $JUNCTOR_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
      )}`,
  ],
  ['cli', 'junctor', ({ name, args }) => `junctor tool call ${name} --json ${shell(JSON.stringify(args))}`],
  [
    'go',
    'Go',
    ({ origin, name, args }) => `// github.com/modelcontextprotocol/go-sdk/mcp
client := mcp.NewClient(&mcp.Implementation{Name: "me", Version: "1"}, nil)
session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
	Endpoint:   ${JSON.stringify(`${origin}/mcp`)},
	HTTPClient: withBearer(os.Getenv("JUNCTOR_KEY")), // sets Authorization
}, nil)
if err != nil {
	return err
}
defer session.Close()
result, err := session.CallTool(ctx, &mcp.CallToolParams{
	Name:      ${JSON.stringify(name)},
	Arguments: json.RawMessage(${JSON.stringify(JSON.stringify(args))}),
})`,
  ],
  [
    'ts',
    'TypeScript',
    ({ origin, name, args }) => `// @modelcontextprotocol/sdk
const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(`${origin}/mcp`)}), {
  requestInit: { headers: { Authorization: \`Bearer \${process.env.JUNCTOR_KEY}\` } },
});
const client = new Client({ name: 'me', version: '1' });
await client.connect(transport);
const result = await client.callTool({ name: ${JSON.stringify(name)}, arguments: ${JSON.stringify(args, null, 2)} });`,
  ],
];
