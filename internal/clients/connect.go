package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Client is a program whose file is known here.
type Client struct {
	Name  string // on the command line
	Title string

	container string // the member of the file that holds servers; "" is TOML
	entry     func(Target) any
	paths     map[string][]string // by system: where its file is, below the home directory or %APPDATA%
}

// Target is what a client is to be connected to.
type Target struct {
	URL     string   // of the door, for clients that speak HTTP
	Key     string   // that the client is known by
	Command []string // that speaks MCP on its standard streams, for those that do not
}

// EntryName is what Junctor is called in a client's file.
const EntryName = "junctor"

// All lists the clients.
func All() []Client {
	bearer := func(t Target) map[string]string { return map[string]string{"Authorization": "Bearer " + t.Key} }
	stdio := func(t Target) any {
		return map[string]any{"command": t.Command[0], "args": t.Command[1:], "env": map[string]string{"JUNCTOR_KEY": t.Key}}
	}
	typed := func(t Target) any { return map[string]any{"type": "http", "url": t.URL, "headers": bearer(t)} }
	everywhere := func(path ...string) map[string][]string {
		return map[string][]string{"linux": path, "darwin": path, "windows": path}
	}
	return []Client{
		{Name: "claude-code", Title: "Claude Code", container: "mcpServers", entry: typed, paths: everywhere(".claude.json")},
		{Name: "claude-desktop", Title: "Claude Desktop", container: "mcpServers", entry: stdio, paths: map[string][]string{
			"linux":   {".config", "Claude", "claude_desktop_config.json"},
			"darwin":  {"Library", "Application Support", "Claude", "claude_desktop_config.json"},
			"windows": {appData, "Claude", "claude_desktop_config.json"},
		}},
		{
			Name: "cursor", Title: "Cursor", container: "mcpServers", paths: everywhere(".cursor", "mcp.json"),
			entry: func(t Target) any { return map[string]any{"url": t.URL, "headers": bearer(t)} },
		},
		{Name: "vscode", Title: "VS Code", container: "servers", entry: typed, paths: map[string][]string{
			"linux":   {".config", "Code", "User", "mcp.json"},
			"darwin":  {"Library", "Application Support", "Code", "User", "mcp.json"},
			"windows": {appData, "Code", "User", "mcp.json"},
		}},
		{
			Name: "gemini", Title: "Gemini CLI", container: "mcpServers", paths: everywhere(".gemini", "settings.json"),
			entry: func(t Target) any { return map[string]any{"httpUrl": t.URL, "headers": bearer(t)} },
		},
		{
			Name: "windsurf", Title: "Windsurf", container: "mcpServers", paths: everywhere(".codeium", "windsurf", "mcp_config.json"),
			entry: func(t Target) any { return map[string]any{"serverUrl": t.URL, "headers": bearer(t)} },
		},
		{Name: "codex", Title: "Codex", paths: everywhere(".codex", "config.toml")},
	}
}

// appData stands for the folder that Windows has for programs' files.
const appData = "%APPDATA%"

// Find gives a client by its name.
func Find(name string) (Client, error) {
	all := All()
	if i := slices.IndexFunc(all, func(c Client) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return Client{}, junctor.Errorf(junctor.CodeInvalid, "unknown client %q; known clients: %s", name, strings.Join(names, ", "))
}

// File is where the client has its file on a system.
func (c Client) File(system string, getenv func(string) string) (string, error) {
	parts := c.paths[system]
	if parts == nil {
		parts = c.paths["linux"]
	}
	base := getenv("HOME")
	if system == "windows" {
		base = getenv("USERPROFILE")
	}
	if parts[0] == appData {
		base, parts = getenv("APPDATA"), parts[1:]
	}
	if base == "" {
		return "", junctor.Errorf(junctor.CodeUnavailable, "the home directory is not known: set HOME")
	}
	return filepath.Join(append([]string{base}, parts...)...), nil
}

// Connect puts Junctor into a client's file, in place of a former entry, and
// keeps a copy of the file as it was. It gives the path of the copy; "" where
// there was no file, or there is a copy from before.
func (c Client) Connect(path string, t Target) (backup string, err error) {
	text, mode, err := readFile(path)
	if err != nil {
		return "", err
	}
	next, err := c.with(text, t)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "%s was not changed: %v", path, err)
	}
	if _, connected, _ := c.without(text); text != nil && !connected {
		backup = path + backupSuffix
		if err := writeFile(backup, text, 0o600); err != nil {
			return "", err
		}
	}
	return backup, writeFile(path, next, mode)
}

const backupSuffix = ".before-junctor"

// Undo takes Junctor out of a client's file. A file that is as Connect left it
// becomes what it was, to the byte; in any other the entry alone is removed.
// found is false where there is no entry.
func (c Client) Undo(path string) (found bool, err error) {
	text, mode, err := readFile(path)
	if err != nil || text == nil {
		return false, err
	}
	next, found, err := c.without(c.orEmpty(text))
	if err != nil {
		return false, junctor.Errorf(junctor.CodeInvalid, "%s was not changed: %v", path, err)
	}
	if !found {
		return false, nil
	}
	before, _, err := readFile(path + backupSuffix)
	if err != nil {
		return false, err
	}
	if before != nil && sameText(c.orEmpty(before), next) {
		next = before
	}
	if err := writeFile(path, next, mode); err != nil {
		return false, err
	}
	if before != nil {
		_ = os.Remove(path + backupSuffix)
	}
	return true, nil
}

// orEmpty gives what Connect takes a file without anything in it for.
func (c Client) orEmpty(text []byte) []byte {
	if c.container != "" && len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}")
	}
	return text
}

// sameText compares without blanks, of which an edit may leave some.
func sameText(a, b []byte) bool {
	strip := func(t []byte) []byte { return bytes.Join(bytes.Fields(t), nil) }
	empty := func(t []byte) []byte { return regexp.MustCompile(`"(mcpServers|servers)":\{\},?`).ReplaceAll(t, nil) }
	return bytes.Equal(empty(strip(a)), empty(strip(b)))
}

func (c Client) with(text []byte, t Target) ([]byte, error) {
	if c.container == "" {
		return withTable(text, t)
	}
	value, err := json.MarshalIndent(c.entry(t), "    ", "  ")
	if err != nil {
		return nil, err
	}
	next, err := setMember(text, c.container, EntryName, value)
	if err == nil && !json.Valid(plain(next)) {
		err = errSyntax
	}
	return next, err
}

func (c Client) without(text []byte) ([]byte, bool, error) {
	if c.container == "" {
		next, found := withoutTable(text)
		return next, found, nil
	}
	return removeMember(text, c.container, EntryName)
}

// readFile gives a file and its mode; nil where there is none.
func readFile(path string) ([]byte, fs.FileMode, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, junctor.Errorf(junctor.CodeUnavailable, "%s cannot be read: %w", path, err)
	}
	if text == nil {
		text = []byte{}
	}
	return text, 0o600, nil // it holds a key now
}

// writeFile replaces a file whole or not at all. A link stays one: what it
// points to is replaced.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	fail := func(err error) error {
		return junctor.Errorf(junctor.CodeUnavailable, "%s cannot be written: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the client's own folder
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".junctor-*")
	if err != nil {
		return fail(err)
	}
	_, werr := f.Write(text)
	err = errors.Join(werr, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fail(err)
	}
	return nil
}
