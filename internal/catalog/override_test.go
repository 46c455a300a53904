package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestChangedTools(t *testing.T) {
	t.Parallel()
	s := server(t, "notes", "drop", "find", "list", "put")
	addTool(t, s, builtin.Tool{Name: "slow", Timeout: time.Minute})
	b := catalog.Changed(s, map[string]junctor.Override{
		"drop": {Hide: true}, "find": {Name: "search", Description: "Finds\nthings", CallTimeoutMax: junctor.Duration(2 * time.Hour)}, "list": {Name: "put"}, "put": {Description: "Puts"}, "gone": {Name: "x", CallTimeout: 5},
	}, catalog.NewCallLimits(junctor.LimitOfServer, time.Second, time.Hour))
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "notes", junctor.ModeBYO, b)
	sh := shelf(c)
	// "put" belongs to a tool already, so list keeps its own name.
	if got := names(t, sh.List(reader("a"), catalog.Scope{Server: "notes"}, catalog.ListTools)); !slices.Equal(got, []string{"search", "list", "put", "slow"}) {
		t.Errorf("shown %v", got)
	}
	if _, err := sh.Tool(reader("a"), catalog.Scope{}, "notes__drop", ""); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("the hidden tool: %v", err)
	}
	if _, err := sh.Tool(reader("a"), catalog.Scope{}, "notes__find", ""); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("the old name: %v", err)
	}
	item, err := sh.Tool(reader("a"), catalog.Scope{}, "notes__search", "")
	limits := catalog.CallLimits{Idle: catalog.CallLimit{Duration: time.Second, SetBy: junctor.LimitOfServer}, Total: catalog.CallLimit{Duration: 2 * time.Hour, SetBy: junctor.LimitOfTool}, Tool: "find"}
	if err != nil || item.Tool.Limits != limits {
		t.Fatalf("%+v, %v", item.Tool, err)
	}
	if d, err := sh.DescribeOne(reader("a"), "notes__search"); err != nil || d.Description != "Finds\nthings" {
		t.Errorf("described as %q, %v", d.Description, err)
	}
	if item, err := sh.Tool(reader("a"), catalog.Scope{}, "notes__slow", ""); err != nil || item.Tool.Limits.Idle != (catalog.CallLimit{Duration: time.Minute, SetBy: junctor.LimitOfBuiltin}) {
		t.Errorf("a deadline of its own: %+v, %v", item, err)
	}
	// The backend hears its own name; builtin answers not_found to any other.
	res, err := item.Server.Backend.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: item.Name, Arguments: []byte("{}"), Principal: reader("a")}, catalog.Discard{})
	if err != nil || res.IsError {
		t.Errorf("called: %s, %v", res.Body, err)
	}
}

// What the operator says of a tool counts without its server being believed, and is
// gone with the override.
func TestReadOnlyByOverride(t *testing.T) {
	t.Parallel()
	s := server(t, "map", "geocode", "show-map")
	c := newCatalog(t, catalog.Options{})
	readOnly := func(tool string) bool {
		t.Helper()
		item, err := shelf(c).Tool(reader("a"), catalog.Scope{}, "map__"+tool, "")
		if err != nil {
			t.Fatal(err)
		}
		return item.Tool.ReadOnly
	}
	again := func(b catalog.Backend) {
		t.Helper()
		c.Detach(tenant, "map")
		attach(t, c, "map", junctor.ModeBYO, b)
	}
	again(s)
	if readOnly("geocode") {
		t.Error("it counts as read-only without anybody saying so")
	}
	again(catalog.Changed(s, map[string]junctor.Override{"geocode": {ReadOnly: new(true)}}, catalog.CallLimits{}))
	if !readOnly("geocode") || readOnly("show-map") {
		t.Errorf("geocode %v, show-map %v", readOnly("geocode"), readOnly("show-map"))
	}
	again(s)
	if readOnly("geocode") {
		t.Error("it still counts as read-only without the override")
	}
}

// What the operator states counts before what a believed server says, each hint by
// itself, and shows its origin.
func TestEffectiveHints(t *testing.T) {
	t.Parallel()
	s := server(t, "shop")
	addTool(t, s, builtin.Tool{Name: "pay", Annotations: &builtin.Annotations{ReadOnly: new(true), OpenWorld: new(false)}})
	overrides := map[string]junctor.Override{"pay": {ReadOnly: new(false), Destructive: new(true), Tags: []string{"money"}}}
	for name, c := range map[string]struct {
		backend catalog.Backend
		want    junctor.ToolHints
		origins string
		tags    int
	}{
		"nobody":     {s, junctor.ToolHints{}, "unknown unknown unknown unknown", 0},
		"the server": {catalog.Believe(s), junctor.ToolHints{ReadOnly: junctor.HintTrue, OpenWorld: junctor.HintFalse}, "server unknown unknown server", 0},
		"the operator": {
			catalog.Changed(s, overrides, catalog.CallLimits{}), junctor.ToolHints{ReadOnly: junctor.HintFalse, Destructive: junctor.HintTrue}, "operator operator unknown unknown", 1,
		},
		"both": {
			catalog.Believe(catalog.Changed(s, overrides, catalog.CallLimits{})),
			junctor.ToolHints{ReadOnly: junctor.HintFalse, Destructive: junctor.HintTrue, OpenWorld: junctor.HintFalse},
			"operator operator unknown server", 1,
		},
	} {
		c2 := newCatalog(t, catalog.Options{})
		attach(t, c2, "shop", junctor.ModeBYO, c.backend)
		item, err := shelf(c2).Tool(reader("a"), catalog.Scope{}, "shop__pay", "")
		if err != nil {
			t.Fatal(err)
		}
		if v := item.Tool; v.Hints != c.want || v.ReadOnly != (c.want.ReadOnly == junctor.HintTrue) || v.Idempotent || len(v.Tags) != c.tags {
			t.Errorf("%s: %+v, read-only %t, tags %q", name, v.Hints, v.ReadOnly, v.Tags)
		}
		shown := shelf(c2).Describe(reader("a"), catalog.Filter{Server: "shop"})
		h := shown[0].Hints
		if got := fmt.Sprint(h.ReadOnly.Origin, " ", h.Destructive.Origin, " ", h.Idempotent.Origin, " ", h.OpenWorld.Origin); got != c.origins {
			t.Errorf("%s: the origins are %s", name, got)
		}
	}
}

func TestNothingToChange(t *testing.T) {
	t.Parallel()
	s := server(t, "notes", "a")
	if b := catalog.Changed(s, nil, catalog.CallLimits{}); b != catalog.Backend(s) {
		t.Error("a backend without changes is wrapped")
	}
}

func TestOffersAreKeptExactly(t *testing.T) {
	t.Parallel()
	want := &catalog.Offer{
		Instructions: "é", Tools: []catalog.ToolDef{{Name: "a", JSON: []byte("{\"a\" : 1,\t\"b\":[]}"), Limits: catalog.NewCallLimits(junctor.LimitOfTool, 5, 7), Default: true, Version: "2"}},
		Resources: []catalog.ResourceDef{{URI: "x:y", JSON: []byte("{}")}}, Templates: []catalog.ResourceDef{{URI: "x:{y}", JSON: []byte("{}")}},
		Prompts: []catalog.PromptDef{{Name: "p", JSON: []byte("{}")}}, Completions: true, Subscribe: true, Logging: true,
	}
	data, err := catalog.EncodeOffer(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := catalog.DecodeOffer(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := catalog.DecodeOffer(data[:len(data)/2]); err == nil {
		t.Error("half an offer was read")
	}
}

// A private server is there for its owner and for admins, in every way of
// looking, and for nobody else.
func TestPrivateServers(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "shared", junctor.ModeBYO, server(t, "shared", "a"))
	if err := c.Attach(t.Context(), tenant, "mine", junctor.ModeBYO, server(t, "mine", "b"), catalog.OwnedBy(reader("owner").ID())); err != nil {
		t.Fatal(err)
	}
	admin := &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: "root", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	sh := shelf(c)
	for name, tt := range map[string]struct {
		p    *junctor.Principal
		sees bool
	}{"owner": {reader("owner"), true}, "other": {reader("other"), false}, "admin": {admin, true}} {
		want := []string{"shared__a"}
		if tt.sees {
			want = []string{"mine__b", "shared__a"}
		}
		for range 2 { // rendered, then remembered
			if got := names(t, sh.List(tt.p, catalog.Scope{}, catalog.ListTools)); !slices.Equal(got, want) {
				t.Errorf("%s lists %v", name, got)
			}
		}
		_, errTool := sh.Tool(tt.p, catalog.Scope{}, "mine__b", "")
		_, errServer := sh.Server(tt.p, "mine")
		found := sh.Describe(tt.p, catalog.Filter{Server: "mine"})
		if (errTool == nil) != tt.sees || (errServer == nil) != tt.sees || (len(found) == 1) != tt.sees {
			t.Errorf("%s: tool %v, server %v, described %v", name, errTool, errServer, found)
		}
	}
}

// switchedBackend is a backend whose overrides change while it is attached.
type switchedBackend struct {
	catalog.Backend
	now atomic.Pointer[catalog.Backend]
}

func (b *switchedBackend) Offer(ctx context.Context) (*catalog.Offer, error) {
	return (*b.now.Load()).Offer(ctx)
}

// What is stated of a tool, and trust in its server, change nothing that a list of a client
// shows. They count at once nevertheless, and watchers of the catalog are notified.
func TestStatementsCountAtOnce(t *testing.T) {
	t.Parallel()
	s := server(t, "map")
	addTool(t, s, builtin.Tool{Name: "geocode", Annotations: &builtin.Annotations{Idempotent: new(true)}})
	b := &switchedBackend{Backend: s}
	under := catalog.Backend(s)
	b.now.Store(&under)
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "map", junctor.ModeBYO, b)
	watcher := c.Watch()
	defer watcher.Stop()
	for _, one := range []struct {
		name  string
		with  catalog.Backend
		hints junctor.ToolHints
		tags  []string
	}{
		{"destructive", catalog.Changed(s, map[string]junctor.Override{"geocode": {Destructive: new(true)}}, catalog.CallLimits{}), junctor.ToolHints{Destructive: junctor.HintTrue}, nil},
		{"tags", catalog.Changed(s, map[string]junctor.Override{"geocode": {Tags: []string{"eu"}}}, catalog.CallLimits{}), junctor.ToolHints{}, []string{"eu"}},
		{"taken back", s, junctor.ToolHints{}, nil},
		{"believed", catalog.Believe(s), junctor.ToolHints{Idempotent: junctor.HintTrue}, nil},
	} {
		b.now.Store(&one.with)
		if err := c.Refresh(t.Context(), tenant, "map"); err != nil {
			t.Fatal(err)
		}
		item, err := shelf(c).Tool(reader("a"), catalog.Scope{}, "map__geocode", "")
		if err != nil || item.Tool.Hints != one.hints || !slices.Equal(item.Tool.Tags, one.tags) {
			t.Errorf("%s: %+v, %v, %v", one.name, item.Tool.Hints, item.Tool.Tags, err)
		}
		if changes := watcher.Take(); !slices.ContainsFunc(changes, func(ch catalog.Change) bool { return ch.Tools }) {
			t.Errorf("%s: the change is not announced: %+v", one.name, changes)
		}
	}
}
