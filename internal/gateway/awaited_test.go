package gateway_test

import (
	"context"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/gateway"
)

// absent is a server that has never answered.
type absent struct{}

func (absent) Offer(context.Context) (*catalog.Offer, error) {
	return &catalog.Offer{Awaited: true}, nil
}
func (absent) Watch(func(catalog.Event)) {}
func (absent) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	return catalog.Result{}, junctor.Errorf(junctor.CodeUnreachable, "nobody there")
}

// A list that lacks a server says so to clients of both eras, and a modern one
// is told not to keep it.
func TestPartialListIsMarked(t *testing.T) {
	t.Parallel()
	var shelves *catalog.Catalog
	s := newStack(t, func(o *gateway.Options) { shelves = o.Catalog })
	if err := shelves.Attach(t.Context(), junctor.DefaultTenant, "away", junctor.ModeBYO, absent{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, headers, body string
		want                []string
	}{
		{
			"modern", "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{`"junctor/awaited":["away"]`, `"ttlMs":0`, `"tools":[{`, `"io.modelcontextprotocol/serverInfo"`},
		},
		{"legacy", "MCP-Protocol-Version: 2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{`"junctor/awaited":["away"]`, `"tools":[{`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := post(t, s.Instance, tc.body, strings.Split(tc.headers, "\n")...).Body
			for _, want := range tc.want {
				if strings.Count(got, want) != 1 {
					t.Errorf("%s stands %d times in %.600s", want, strings.Count(got, want), got)
				}
			}
			if n := strings.Count(got, `"_meta":{"junctor/awaited"`) + strings.Count(got, `"_meta":{"io.model`); n != 1 {
				t.Errorf("the list's own _meta stands %d times: %.600s", n, got)
			}
		})
	}
}
