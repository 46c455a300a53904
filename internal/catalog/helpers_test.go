package catalog_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenant = junctor.DefaultTenant

func reader(subject string) *junctor.Principal {
	return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: subject, Scopes: []junctor.Scope{junctor.ScopeToolsRead}}
}

func stranger() *junctor.Principal {
	return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerKey, Subject: "s", Scopes: []junctor.Scope{junctor.ScopeAuditRead}}
}

// server makes a built-in server with tools that answer nothing.
func server(t testing.TB, id string, tools ...string) *builtin.Server {
	t.Helper()
	s, err := builtin.New(id, id, builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tools {
		addTool(t, s, builtin.Tool{Name: name})
	}
	return s
}

func addTool(t testing.TB, s *builtin.Server, tool builtin.Tool) {
	t.Helper()
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if err := s.AddRawTool(tool, nothing); err != nil {
		t.Fatal(err)
	}
}

func nothing(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
	return builtin.TextResult("ok"), nil
}

func newCatalog(t testing.TB, o catalog.Options) *catalog.Catalog {
	t.Helper()
	c := catalog.New(o)
	t.Cleanup(c.Close)
	return c
}

func attach(t testing.TB, c *catalog.Catalog, id string, mode junctor.Mode, b catalog.Backend) {
	t.Helper()
	if err := c.Attach(t.Context(), tenant, id, mode, b); err != nil {
		t.Fatal(err)
	}
}

func shelf(c *catalog.Catalog) *catalog.Shelf { return c.Snapshot().For(tenant) }

// names gives what a list shows: names of tools and prompts, URIs of the rest.
func names(t testing.TB, list []byte) []string {
	t.Helper()
	var decoded map[string][]struct {
		Name        string `json:"name"`
		URI         string `json:"uri"`
		URITemplate string `json:"uriTemplate"`
	}
	if err := json.Unmarshal(list, &decoded); err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	out := []string{}
	for _, items := range decoded {
		for _, i := range items {
			switch {
			case i.URI != "":
				out = append(out, i.URI)
			case i.URITemplate != "":
				out = append(out, i.URITemplate)
			default:
				out = append(out, i.Name)
			}
		}
	}
	return out
}

func toolNames(t testing.TB, c *catalog.Catalog, v catalog.Scope) []string {
	t.Helper()
	return names(t, shelf(c).List(reader("r"), v, catalog.ListTools))
}

// scripted is a backend whose offers a test writes itself: what a strange
// server sends, and when.
type scripted struct {
	mu     sync.Mutex
	offer  *catalog.Offer
	err    error
	notify func(catalog.Event)
	before func(ctx context.Context) // runs in Offer, without the lock
}

func (s *scripted) Offer(ctx context.Context) (*catalog.Offer, error) {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		before(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer, s.err
}

func (s *scripted) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	return catalog.Result{Body: []byte("{}")}, nil
}

func (s *scripted) Watch(notify func(catalog.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = notify
}

func (s *scripted) set(o *catalog.Offer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offer, s.err = o, err
}

func (s *scripted) send(e catalog.Event) {
	s.mu.Lock()
	notify := s.notify
	s.mu.Unlock()
	notify(e)
}

func toolOffer(names ...string) *catalog.Offer {
	o := &catalog.Offer{}
	for _, n := range names {
		o.Tools = append(o.Tools, toolDef(n, `{"type":"object"}`))
	}
	return o
}

func toolDef(name, schema string) catalog.ToolDef {
	quoted, _ := json.Marshal(name)
	return catalog.ToolDef{Name: name, JSON: []byte(`{"name":` + string(quoted) + `,"inputSchema":` + schema + `}`)}
}

// logs collects what is logged.
type logs struct{ output.Buffer }

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
