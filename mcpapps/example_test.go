package mcpapps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// A server whose tool brings a page: one View, one tool for the model, one for
// the page alone.
func Example() {
	type Year struct {
		Year int `json:"year" jsonschema:"the year to report"`
	}
	type Sales struct {
		Total int `json:"total"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "sales", Version: "1"}, nil)
	apps, err := mcpapps.New(server)
	if err != nil {
		log.Fatal(err)
	}
	dash := &mcpapps.View{
		URI:   "ui://sales/dash.html",
		Title: "Sales",
		Page: mcpapps.HTML(`<!doctype html>
<h1 id="total">…</h1>
<script src="mcpapps.js"></script>
<script>
  mcpApp({ name: "sales", version: "1" }, {
    result: (r) => { total.textContent = r.structuredContent.total; },
  }).connect();
</script>`),
		Meta: mcpapps.ResourceMeta{PrefersBorder: new(true)},
	}
	err = mcpapps.AddTool(apps, dash, &mcp.Tool{Name: "sales", Description: "Sales of a year."},
		func(_ context.Context, _ *mcp.CallToolRequest, in Year) (mcpapps.Reply[Sales], error) {
			s := Sales{Total: 42 * in.Year}
			return mcpapps.Reply[Sales]{Text: fmt.Sprintf("Sold %d in %d.", s.Total, in.Year), Data: s}, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	err = mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "refresh"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (mcpapps.Reply[Sales], error) {
			return mcpapps.Reply[Sales]{Text: "fresh", Data: Sales{Total: 7}}, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	// Then, as for any server: server.Run(ctx, &mcp.StdioTransport{})

	// Output:
}

// What a page declares becomes a policy; what does not belong there is left out.
func ExamplePolicy_HeaderValue() {
	declared := &mcpapps.CSP{ConnectDomains: []string{"https://api.example.com", "https://x; script-src *"}}
	fmt.Println(declared.Validate())
	fmt.Println(mcpapps.Policy{FrameAncestors: []string{"https://host.example"}}.HeaderValue(declared)[:45])
	fmt.Println(declared.FilterInvalid().ConnectDomains)
	// Output:
	// mcpapps: csp.connectDomains[1]: "https://x; script-src *" is no source: write scheme and host, like https://api.example.com or wss://*.example.com:8443
	// default-src 'none'; script-src 'self' 'unsafe
	// [https://api.example.com]
}

// A gateway gives every server's pages addresses of their own.
func ExampleAddNamespace() {
	shown := mcpapps.AddNamespace("map", "ui://view.html")
	server, original, _ := mcpapps.SplitNamespace(shown)
	fmt.Println(shown, server, original)
	// Output: ui://map/view.html map ui://view.html
}

// A host asks whether a page may send what it sent, and reads it.
func ExampleFindMethod() {
	m, ok := mcpapps.FindMethod(mcpapps.PartyView, "ui/open-link")
	params, err := m.DecodeParams(json.RawMessage(`{"url":"https://example.com"}`))
	fmt.Println(ok, m.IsRequest, params.(*mcpapps.OpenLinkParams).URL, err)

	_, ok = mcpapps.FindMethod(mcpapps.PartyView, mcpapps.NotificationToolResult) // only hosts say this
	fmt.Println(ok)
	// Output:
	// true true https://example.com <nil>
	// false
}

// An agent's list leaves tools away that are for pages alone.
func ExampleParseToolMeta() {
	meta := mcpapps.ParseToolMeta(json.RawMessage(`{"ui":{"visibility":["app"]},"ui/resourceUri":"ui://old"}`))
	fmt.Println(meta.IsVisibleTo(mcpapps.VisibleToModel), meta.IsVisibleTo(mcpapps.VisibleToApp), meta.ResourceURI)
	// Output: false true ui://old
}
