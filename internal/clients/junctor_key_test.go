package clients_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junctor-mcp/junctor/internal/clients"
)

// The key that Connect writes is read back from the file of every client.
func TestJunctorKey(t *testing.T) {
	t.Parallel()
	for _, c := range clients.All() {
		usual, err := c.File("linux", func(string) string { return t.TempDir() })
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(usual))
		target := clients.Target{URL: "http://127.0.0.1:8717/mcp/a/x", Key: "jct_key", Command: []string{"/usr/bin/junctor", "stdio"}}
		if _, err := c.Connect(path, target); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := clients.Read(path, text, clients.Variables{Values: true})
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v", c.Name, entries, err)
			continue
		}
		if got := entries[0].Server.JunctorKey(); got != target.Key {
			t.Errorf("%s: %q in\n%s", c.Name, got, text)
		}
	}
}
