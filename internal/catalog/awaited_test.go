package catalog_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// absent is a server that has never answered.
type absent struct{ notify func(catalog.Event) }

func (a *absent) Offer(context.Context) (*catalog.Offer, error) {
	return &catalog.Offer{Awaited: true}, nil
}
func (a *absent) Watch(notify func(catalog.Event)) { a.notify = notify }
func (a *absent) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	return catalog.Result{}, junctor.Errorf(junctor.CodeUnreachable, "nobody there")
}

// A list that lacks what a server may have says so, to every caller who may know of the
// server.
func TestPartialListIsMarked(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "here", junctor.ModeBuiltin, server(t, "here", "x"))
	attach(t, c, "away", junctor.ModeBYO, &absent{})
	if err := c.Attach(t.Context(), tenant, "secret", junctor.ModeBYO, &absent{}, catalog.OwnedBy("key:other")); err != nil {
		t.Fatal(err)
	}
	awaited := func(p *junctor.Principal, v catalog.Scope) []string {
		t.Helper()
		list := shelf(c).List(p, v, catalog.ListTools)
		var result struct {
			Meta  map[string][]string `json:"_meta"`
			Tools []json.RawMessage   `json:"tools"`
		}
		if err := json.Unmarshal(list, &result); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if catalog.Whole(list) != (result.Meta == nil) {
			t.Errorf("Whole is wrong about %s", list)
		}
		if v.Server == "" && len(result.Tools) != 1 {
			t.Errorf("%d tools in %s", len(result.Tools), list)
		}
		return result.Meta[wire.MetaJunctorAwaited]
	}
	for _, tc := range []struct {
		name string
		p    *junctor.Principal
		v    catalog.Scope
		want []string
	}{
		{"somebody", reader("r"), catalog.Scope{}, []string{"away"}},
		{"the owner of another", reader("other"), catalog.Scope{}, []string{"away", "secret"}},
		{"a server that is there", reader("r"), catalog.Scope{Server: "here"}, nil},
		{"one that is not", reader("r"), catalog.Scope{Server: "away"}, []string{"away"}},
	} {
		if got := awaited(tc.p, tc.v); !slices.Equal(got, tc.want) {
			t.Errorf("%s: awaited %q, want %q", tc.name, got, tc.want)
		}
	}
	c.Detach(tenant, "away")
	if got := awaited(reader("r"), catalog.Scope{}); got != nil {
		t.Errorf("awaited %q although it is gone", got)
	}
}
