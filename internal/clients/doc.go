// Package clients reads and writes the configuration files of MCP clients:
// Claude Desktop and Code, Cursor, VS Code, Gemini, Windsurf, Codex. The command
// line uses it to bring in the servers that people have there already (import)
// and to put Junctor into them and take it out again (connect). It knows files
// and nothing of a running instance.
package clients
