package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Clients of a profile are shown tools as they take them, in lists and where they
// are described, under the names of the view and with the operator's own texts.
// Other servers' tools are shown as they are, and each is made once.
func TestProfiles(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	shaped := catalog.ToolDef{
		Name: "pets", JSON: []byte(`{"name":"pets","description":"Pets","inputSchema":{"type":"object"}}`),
		As: func(p junctor.Profile) []byte {
			made.Add(1)
			return fmt.Appendf(nil, `{"name":"pets","description":"Pets","inputSchema":{"type":"object","title":%q}}`, p)
		},
		Take: func(p junctor.Profile, arguments []byte) []byte { return append([]byte(p), arguments...) },
	}
	plain := catalog.ToolDef{Name: "cats", JSON: []byte(`{"name":"cats","inputSchema":{"type":"object"}}`)}
	c := newCatalog(t, catalog.Options{})
	api := catalog.Changed(&scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{shaped}}}, map[string]junctor.Override{"pets": {Name: "animals", Description: "All of them"}}, catalog.CallLimits{})
	attach(t, c, "api", junctor.ModeGenerated, api)
	attach(t, c, "byo", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{plain}}})
	list := func(v catalog.Scope) string { return string(shelf(c).List(reader("r"), v, catalog.ListTools)) }
	cats := `{"name":"byo__cats","inputSchema":{"type":"object"}}`
	for v, want := range map[catalog.Scope]string{
		{}:                                 `{"tools":[{"inputSchema":{"type":"object"},"name":"api__animals","description":"All of them"},` + cats + `]}`,
		{Profile: "gemini"}:                `{"tools":[{"inputSchema":{"type":"object","title":"gemini"},"name":"api__animals","description":"All of them"},` + cats + `]}`,
		{Profile: "openai"}:                `{"tools":[{"inputSchema":{"type":"object","title":"openai"},"name":"api__animals","description":"All of them"},` + cats + `]}`,
		{Profile: "openai", Server: "api"}: `{"tools":[{"inputSchema":{"type":"object","title":"openai"},"name":"animals","description":"All of them"}]}`,
	} {
		for range 2 {
			if got := list(v); got != want {
				t.Errorf("%+v: %s\nwant %s", v, got, want)
			}
		}
	}
	if n := made.Load(); n != 2 {
		t.Errorf("made %d times for two profiles", n)
	}
	item, err := shelf(c).Tool(reader("r"), catalog.Scope{Profile: "openai"}, "api__animals", "")
	if err != nil || string(item.Tool.Taken("openai", []byte("{}"))) != "openai{}" || string(item.Tool.Taken("", []byte("{}"))) != "{}" || item.Tool.Taken("openai", nil) != nil {
		t.Errorf("arguments: %v", err)
	}
	c.Detach(tenant, "api")
	if err := c.Attach(t.Context(), tenant, "api", junctor.ModeGenerated, api, catalog.ExposedAs(junctor.ExposureSearch)); err != nil {
		t.Fatal(err)
	}
	meta, ok := shelf(c).Meta(reader("r"), catalog.Scope{Profile: "gemini"}, catalog.DescribeTool)
	if !ok {
		t.Fatal("nothing describes it")
	}
	res, err := meta.Server.Backend.Do(context.Background(), &catalog.Request{Name: catalog.DescribeTool, Kind: junctor.KindTool, Arguments: []byte(`{"name":"api__animals"}`), Principal: reader("r")}, nil)
	if err != nil || !strings.Contains(string(res.Body), `"title":"gemini"`) {
		t.Errorf("described: %s, %v", res.Body, err)
	}
}
