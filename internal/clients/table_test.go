package clients_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/clients"
)

//go:generate go test . -run ^TestConsoleShowsTheTable$ -update

var update = flag.Bool("update", false, "write the table of clients that the console shows")

// shownClient is a row of the table as the console and the documents show it.
type shownClient struct {
	Name    string            `json:"name"`
	Title   string            `json:"title"`
	Files   map[string]string `json:"files"`             // by GOOS
	Project string            `json:"project,omitempty"` // the file that it reads in the folder of a project
	Entry   string            `json:"entry"`             // a file with nothing but the entry for Junctor
}

// showClient returns the row of a client. Its entry has the URL and the key that the
// console replaces.
func showClient(t *testing.T, c clients.Client) shownClient {
	t.Helper()
	row := shownClient{Name: c.Name, Title: c.Title, Files: map[string]string{}, Project: filepath.ToSlash(c.ProjectFile(""))}
	folders := map[string]string{"HOME": "~", "USERPROFILE": "%USERPROFILE%", "APPDATA": "%APPDATA%"}
	for _, system := range []string{"linux", "darwin", "windows"} {
		path, err := c.File(system, func(name string) string { return folders[name] })
		if err != nil {
			t.Fatal(err)
		}
		row.Files[system] = filepath.ToSlash(path)
		if system == "windows" {
			row.Files[system] = strings.ReplaceAll(row.Files[system], "/", `\`)
		}
	}
	file := filepath.Join(t.TempDir(), "config")
	if _, err := c.Connect(file, clients.Target{URL: "http://junctor.invalid/mcp", Key: "YOUR-KEY", Command: []string{"junctor", "stdio"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	row.Entry = string(text)
	return row
}

// TestConsoleShowsTheTable compares the table with the file that the console is built
// with.
func TestConsoleShowsTheTable(t *testing.T) {
	t.Parallel()
	var rows []shownClient
	for _, c := range clients.All() {
		rows = append(rows, showClient(t, c))
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "console", "web", "src", "api", "clients.json")
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the console shows another table of clients; run `make generate`")
	}
}

// TestClientsAreDocumented compares the texts that list the clients by hand with the
// table.
func TestClientsAreDocumented(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme, servers := read("README.md"), read("docs/guides/servers.md")
	if names := strings.Join(clients.Names(), ", "); !strings.Contains(readme, names) {
		t.Errorf("README.md does not list the clients: %s", names)
	}
	for _, c := range clients.All() {
		row := showClient(t, c)
		project := "none"
		if row.Project != "" {
			project = "`" + row.Project + "`"
		}
		line := fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", row.Name, row.Title, row.Files["linux"], project)
		if !strings.Contains(servers, line) {
			t.Errorf("docs/guides/servers.md lacks this row of the table of clients: %s", line)
		}
	}
}
