package catalog_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// TestToolByItsDefinition holds that a caller can name the definition of a tool that
// it has read, and is refused when the tool has another by now.
func TestToolByItsDefinition(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	def := func(description string) *scripted {
		return &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "pay", JSON: []byte(`{"name":"pay","description":"` + description + `","inputSchema":{"type":"object"}}`)}}}}
	}
	attach(t, c, "bank", junctor.ModeBYO, def("pays"))
	read := func() string {
		d, err := shelf(c).DescribeOne(reader("r"), "bank__pay")
		if err != nil {
			t.Fatal(err)
		}
		return "sha256:" + d.Digest
	}
	first := read()
	if item, err := shelf(c).Tool(reader("r"), catalog.Scope{}, "bank__pay", first); err != nil || item.Tool == nil {
		t.Errorf("the definition that was read: %v", err)
	}
	c.Detach(tenant, "bank")
	attach(t, c, "bank", junctor.ModeBYO, def("pays, and tells everybody"))
	_, err := shelf(c).Tool(reader("r"), catalog.Scope{}, "bank__pay", first)
	if e := junctor.AsError(err); err == nil || e.Code != junctor.CodeConflict || !strings.Contains(e.Message, read()) {
		t.Errorf("a definition that has changed: %v", err)
	}
	if _, err := shelf(c).Tool(reader("r"), catalog.Scope{}, "bank__pay", "2"); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), read()) {
		t.Errorf("a version where there is none: %v", err)
	}
}
