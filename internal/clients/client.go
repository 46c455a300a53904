package clients

import (
	"path/filepath"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Client describes an MCP client: where its configuration files are on each operating
// system, and which form an entry has there. All returns the known ones; a Client is
// never changed.
type Client struct {
	Name string // on the command line and in documentation, such as vscode
	// Title is the name of the client as its maker writes it, such as VS Code.
	Title string

	format fileFormat
	// pathsBySystem has the elements of the path of the user's file by GOOS, below the
	// home directory, or below %APPDATA% if the first element is appDataPlaceholder.
	pathsBySystem map[string][]string
	// projectPath has the elements of the path of the file that the client reads in the
	// folder of a project; nil if it reads none.
	projectPath []string
}

// fileFormat edits the configuration files of one kind. Every method returns a new text
// and leaves all bytes as they are that it does not have to change.
type fileFormat interface {
	// setEntry returns the text with an entry for Junctor, in place of an earlier one.
	setEntry(text []byte, t Target) ([]byte, error)
	// place returns where setEntry puts the entry for Junctor.
	place(text []byte) Place
	// cutEntry removes an entry. piece is what was removed, in a form that only
	// pasteEntry of the same format understands; it is nil if there is no such entry.
	cutEntry(text []byte, at Place) (next, piece []byte, err error)
	// pasteEntry puts an entry back that cutEntry has removed.
	pasteEntry(text []byte, at Place, piece []byte) ([]byte, error)
}

// Place is where an entry is in a file: its name, and the names of the members or tables
// around it, from the outside.
type Place struct {
	Container []string `json:"container"`
	Name      string   `json:"name"`
}

// path returns the names from the outside to the entry.
func (p Place) path() []string { return append(slices.Clone(p.Container), p.Name) }

// Target is how a client reaches an instance. Clients that speak Streamable HTTP use
// the URL, the others start the command.
type Target struct {
	URL     string   // of the MCP endpoint, for clients that speak HTTP
	Key     string   // authenticates the client; it is written into the file in plain text
	Command []string // speaks MCP on its standard streams; has at least one word

	// Shared says that the entry is for a file that other people read too, such as one
	// in a Git repository. Then it is the command alone, without the key.
	Shared bool
}

// EntryName is the name of the entry for Junctor in the file of a client.
const EntryName = "junctor"

// All returns the table of clients, in the order in which they are listed. To support
// another client, add a row here. The command line and the console read the table: the
// latter is built with a file that make generate writes from it. README.md and
// docs/guides/servers.md are compared with it by a test.
func All() []Client {
	typed := func(t Target) any { return map[string]any{"type": "http", "url": t.URL, "headers": bearerHeader(t)} }
	untyped := func(t Target) any { return map[string]any{"url": t.URL, "headers": bearerHeader(t)} }
	servers := []string{"mcpServers"}
	extension := func(id, file string) map[string][]string {
		return codeFolder("User", "globalStorage", id, "settings", file)
	}
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", format: jsonFormat{servers, typed},
			pathsBySystem: everywhere(".claude.json"), projectPath: []string{".mcp.json"},
		},
		{Name: "claude-desktop", Title: "Claude Desktop", format: jsonFormat{servers, commandEntry}, pathsBySystem: map[string][]string{
			"linux":   {".config", "Claude", "claude_desktop_config.json"},
			"darwin":  {"Library", "Application Support", "Claude", "claude_desktop_config.json"},
			"windows": {appDataPlaceholder, "Claude", "claude_desktop_config.json"},
		}},
		{
			Name: "cursor", Title: "Cursor", format: jsonFormat{servers, untyped},
			pathsBySystem: everywhere(".cursor", "mcp.json"), projectPath: []string{".cursor", "mcp.json"},
		},
		{
			Name: "vscode", Title: "VS Code", format: jsonFormat{[]string{"servers"}, typed},
			pathsBySystem: codeFolder("User", "mcp.json"), projectPath: []string{".vscode", "mcp.json"},
		},
		{
			Name: "gemini", Title: "Gemini CLI", pathsBySystem: everywhere(".gemini", "settings.json"), projectPath: []string{".gemini", "settings.json"},
			format: jsonFormat{servers, func(t Target) any { return map[string]any{"httpUrl": t.URL, "headers": bearerHeader(t)} }},
		},
		{
			Name: "windsurf", Title: "Windsurf", pathsBySystem: everywhere(".codeium", "windsurf", "mcp_config.json"),
			format: jsonFormat{servers, func(t Target) any { return map[string]any{"serverUrl": t.URL, "headers": bearerHeader(t)} }},
		},
		{
			Name: "codex", Title: "Codex", format: tomlFormat{},
			pathsBySystem: everywhere(".codex", "config.toml"), projectPath: []string{".codex", "config.toml"},
		},
		{
			Name: "zed", Title: "Zed", format: jsonFormat{[]string{"context_servers"}, untyped},
			pathsBySystem: map[string][]string{
				"linux": {".config", "zed", "settings.json"}, "darwin": {".config", "zed", "settings.json"},
				"windows": {appDataPlaceholder, "Zed", "settings.json"},
			}, projectPath: []string{".zed", "settings.json"},
		},
		{
			Name: "cline", Title: "Cline", pathsBySystem: extension("saoudrizwan.claude-dev", "cline_mcp_settings.json"),
			format: jsonFormat{servers, func(t Target) any {
				return map[string]any{"type": "streamableHttp", "url": t.URL, "headers": bearerHeader(t)}
			}},
		},
		{
			Name: "roo", Title: "Roo Code", pathsBySystem: extension("rooveterinaryinc.roo-cline", "mcp_settings.json"), projectPath: []string{".roo", "mcp.json"},
			format: jsonFormat{servers, func(t Target) any {
				return map[string]any{"type": "streamable-http", "url": t.URL, "headers": bearerHeader(t)}
			}},
		},
		{
			Name: "junie", Title: "JetBrains Junie", format: jsonFormat{servers, commandEntry},
			pathsBySystem: everywhere(".junie", "mcp", "mcp.json"), projectPath: []string{".junie", "mcp", "mcp.json"},
		},
		{
			Name: "opencode", Title: "opencode", format: opencodeFormat{},
			pathsBySystem: everywhere(".config", "opencode", "opencode.json"), projectPath: []string{"opencode.json"},
		},
		{
			Name: "amp", Title: "Amp", format: jsonFormat{[]string{"amp.mcpServers"}, untyped},
			pathsBySystem: everywhere(".config", "amp", "settings.json"), projectPath: []string{".amp", "settings.json"},
		},
		{Name: "goose", Title: "Goose", format: yamlFormat{container: "extensions", makeEntry: gooseEntry}, pathsBySystem: map[string][]string{
			"linux": {".config", "goose", "config.yaml"}, "darwin": {".config", "goose", "config.yaml"},
			"windows": {appDataPlaceholder, "Block", "goose", "config", "config.yaml"},
		}},
		{
			Name: "continue", Title: "Continue", format: yamlFormat{container: "mcpServers", list: true, makeEntry: continueEntry},
			pathsBySystem: everywhere(".continue", "config.yaml"),
		},
	}
}

// everywhere is a path that is the same on all systems.
func everywhere(path ...string) map[string][]string {
	return map[string][]string{"linux": path, "darwin": path, "windows": path}
}

// codeFolder is a path in the folder that VS Code has for its own files.
func codeFolder(path ...string) map[string][]string {
	below := func(parts ...string) []string { return append(parts, path...) }
	return map[string][]string{
		"linux": below(".config", "Code"), "darwin": below("Library", "Application Support", "Code"), "windows": below(appDataPlaceholder, "Code"),
	}
}

// bearerHeader returns the headers with which a client sends its key.
func bearerHeader(t Target) map[string]string {
	return map[string]string{"Authorization": "Bearer " + t.Key}
}

// commandEntry is the entry of clients that start a command.
func commandEntry(t Target) any {
	entry := map[string]any{"command": t.Command[0], "args": t.Command[1:]}
	if !t.Shared {
		entry["env"] = map[string]string{"JUNCTOR_KEY": t.Key}
	}
	return entry
}

// appDataPlaceholder stands in a path for the folder that Windows has for the files of
// programs.
const appDataPlaceholder = "%APPDATA%"

// Find returns the client with a name of the table. Any other name is CodeInvalid, and
// the error lists the known names.
func Find(name string) (Client, error) {
	all := All()
	if i := slices.IndexFunc(all, func(c Client) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Client{}, junctor.Errorf(junctor.CodeInvalid, "unknown client %q; known clients: %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of all clients, in the order of the table.
func Names() []string {
	all := All()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names
}

// File returns the path of the client's configuration file. system is a GOOS; an
// unknown one counts as linux. getenv reads the environment. If no home directory is
// set there, the error is CodeUnavailable. The file need not exist.
func (c Client) File(system string, getenv func(string) string) (string, error) {
	parts := c.pathsBySystem[system]
	if parts == nil {
		parts = c.pathsBySystem["linux"]
	}
	base := getenv("HOME")
	if system == "windows" {
		base = getenv("USERPROFILE")
	}
	if parts[0] == appDataPlaceholder {
		base, parts = getenv("APPDATA"), parts[1:]
	}
	if base == "" {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the home directory is unknown; set HOME")
	}
	return filepath.Join(append([]string{base}, parts...)...), nil
}

// ProjectFile returns the path of the file that the client reads in the folder of a
// project; "" if it reads none.
func (c Client) ProjectFile(project string) string {
	if c.projectPath == nil {
		return ""
	}
	return filepath.Join(append([]string{project}, c.projectPath...)...)
}
