package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/clients"
)

// TestClientsAreDocumented keeps the texts that list the clients by hand equal to the
// table: a client that is added there has to be named in each of them.
func TestClientsAreDocumented(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"README.md", "docs/servers.md",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range clients.Names() {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s does not name the client %s, which `junctor connect` knows", file, name)
			}
		}
	}
}
