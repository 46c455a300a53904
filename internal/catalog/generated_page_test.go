package catalog_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// A page that was made for a tool is told to those that show pages, under the
// names of the view, and changes neither the tool nor its digest. A page of its
// own stays.
func TestPagesMadeHere(t *testing.T) {
	t.Parallel()
	const page = "ui://made/x.html"
	tool := func(json, page string) *catalog.Offer {
		return &catalog.Offer{Tools: []catalog.ToolDef{{Name: "t", JSON: []byte(json), Page: page}}}
	}
	const plain, own = `{"name":"t","inputSchema":{"type":"object"}}`, `{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://own/y"}}}`
	c := newCatalog(t, catalog.Options{})
	backend := &scripted{offer: tool(plain, page)}
	attach(t, c, "a", junctor.ModeBYO, backend)
	attach(t, c, "b", junctor.ModeBYO, &scripted{offer: tool(own, page)})
	list := func(v catalog.Scope) string { return string(shelf(c).List(reader("r"), v, catalog.ListTools)) }
	for v, want := range map[catalog.Scope]string{
		{Server: "a"}: `{"tools":[` + plain + `]}`,
		{Server: "a", Audience: catalog.AudienceHost}: `{"tools":[{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"` + page + `"}}}]}`,
		{Server: "b", Audience: catalog.AudienceHost}: `{"tools":[` + own + `]}`,
		{Audience: catalog.AudienceHost}: `{"tools":[{"name":"a__t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://a/made/x.html"}}},` +
			`{"name":"b__t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://b/own/y"}}}]}`,
	} {
		if got := list(v); got != want {
			t.Errorf("%+v:\n%s\nwant\n%s", v, got, want)
		}
	}
	item, err := shelf(c).Resource(reader("r"), catalog.Scope{}, "ui://a/made/x.html")
	if err != nil || item.Name != page || item.Server.ID != "a" {
		t.Errorf("the page itself: %+v, %v", item, err)
	}
	with, err := shelf(c).DescribeOne(reader("r"), "a__t")
	if err != nil || with.App != page {
		t.Errorf("described with %q, %v", with.App, err)
	}
	w := c.Watch()
	defer w.Stop()
	w.Take()
	backend.offer = tool(plain, "")
	if err := c.Refresh(t.Context(), tenant, "a"); err != nil {
		t.Fatal(err)
	}
	without, err := shelf(c).DescribeOne(reader("r"), "a__t")
	if err != nil || without.App != "" || without.Digest != with.Digest {
		t.Errorf("%v: the page %q, digests %s and %s", err, without.App, with.Digest, without.Digest)
	}
	if changes := w.Take(); len(changes) != 1 || !changes[0].Tools {
		t.Errorf("announced: %+v", changes)
	}
	if _, err := shelf(c).Resource(reader("r"), catalog.Scope{}, "ui://a/made/x.html"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("the page is still there: %v", err)
	}
}

// Whatever a definition holds is still there beside the page.
func TestPagesKeepDefinitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }), rapid.Just[any](nil))
		member := rapid.MapOf(rapid.StringMatching(`[a-z]{1,12}`), value)
		tool, meta := member.Draw(t, "tool"), member.Draw(t, "meta")
		delete(meta, "ui")
		tool["name"], tool["_meta"] = "t", meta
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var listed map[string]any
		if err := json.Unmarshal(catalog.Paged(raw, "ui://x/y"), &listed); err != nil {
			t.Fatal(err)
		}
		meta["ui"] = map[string]any{"resourceUri": "ui://x/y"}
		want, _ := json.Marshal(tool)
		got, _ := json.Marshal(listed)
		if string(got) != string(want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
