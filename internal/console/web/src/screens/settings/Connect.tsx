import { Panel } from '../../parts/elements';
import { instanceURL } from '../../parts/instanceURL';
import { Code } from '../../parts/Json';

export function Connect() {
  const url = `${instanceURL()}/mcp`;
  const http = JSON.stringify({ mcpServers: { junctor: { type: 'http', url, headers: { Authorization: 'Bearer <key>' } } } }, null, 2);
  const stdio = JSON.stringify({ mcpServers: { junctor: { command: 'junctor', args: ['stdio'] } } }, null, 2);
  return (
    <div className="columns">
      <Panel title="On the machine of this instance" pad>
        <div className="stack">
          <p className="soft">
            One command puts Junctor into a client’s configuration with a key of its own, and keeps a copy of the file.
          </p>
          <Code>{'junctor connect claude-code   # or claude-desktop, cursor, vscode, gemini, windsurf, codex'}</Code>
          <p className="soft">Or let the client start Junctor:</p>
          <Code label="Copy the JSON">{stdio}</Code>
        </div>
      </Panel>
      <Panel title="On another machine" pad>
        <div className="stack">
          <p className="soft">Create a key under “Keys” and add this to the client’s configuration:</p>
          <Code label="Copy the JSON">{http}</Code>
          <p className="soft">Clients of every version of the protocol use the same address.</p>
        </div>
      </Panel>
    </div>
  );
}
