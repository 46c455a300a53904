package catalog_test

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// TestToolsOfAServerThatHasNotAnswered calls a tool of a server that is still starting.
// Nobody knows yet whether the tool exists: "not found" would end a delivery for good.
func TestToolsOfAServerThatHasNotAnswered(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "slow", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Awaited: true}})
	attach(t, c, "quick", junctor.ModeBYO, &scripted{offer: &catalog.Offer{}})
	for server, want := range map[string]junctor.Code{"slow": junctor.CodeUnavailable, "quick": junctor.CodeNotFound, "none": junctor.CodeNotFound} {
		if _, err := shelf(c).Tool(reader("r"), catalog.Scope{Server: server}, "echo", ""); junctor.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", server, err, want)
		}
	}
}
