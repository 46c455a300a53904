package catalog_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// What a grant names and the agent cannot call is told with the reason; a role is none.
func TestWithheldTools(t *testing.T) {
	t.Parallel()
	c := shop(t)
	offer := toolOffer("plain", "long")
	offer.Tools = append(offer.Tools,
		catalog.ToolDef{Name: "page_only", JSON: []byte(`{"name":"page_only","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://p","visibility":["app"]}}}`)},
		catalog.ToolDef{Name: "broken", JSON: []byte(`{"name":"broken","inputSchema":"no"}`)})
	attach(t, c, "acme", junctor.ModeBYO, &scripted{offer: offer})
	attach(t, c, "silent", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Awaited: true}})
	c.SetTags(tenant, []junctor.ToolTag{{Server: "acme", Tool: "plain", Roles: []junctor.Role{"Finance"}}})
	texts := []string{"acme/*", "acme/page_only", "acme/absent", "acme/plain", "mine/*", "silent/*", "nowhere/*"}
	c.SetAgents(tenant, []junctor.Agent{{Name: "ops", Role: "Ops", Owner: "user:u2", Tools: grants(t, texts...)}})
	for i, want := range []string{
		"acme/broken: its definition cannot be listed: its inputSchema is not an object; acme/page_only: its definition hides it from models (_meta.ui.visibility)",
		"acme/page_only: its definition hides it from models (_meta.ui.visibility)",
		"acme/absent: the server lists no tool of this name",
		"",
		"mine/x: the server is private and belongs to another user",
		"silent/*: the server has not answered yet, so its tools are not known",
		"",
	} {
		var got []string
		for _, w := range shelf(c).WithheldTools(agentOf("ops"), grants(t, texts[i])[0]) {
			got = append(got, w.String()+": "+w.Reason)
		}
		if joined := strings.Join(got, "; "); joined != want {
			t.Errorf("%s: %q, want %q", texts[i], joined, want)
		}
	}
}
