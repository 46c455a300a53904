package servers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
)

// TestPollTellsOnce: a document that changes in a way that breaks callers is told
// of once, whether its address names it by an ETag or not; another such change is
// told of again, and one that breaks nobody is taken over.
func TestPollTellsOnce(t *testing.T) {
	t.Parallel()
	for _, tags := range []bool{true, false} {
		t.Run(fmt.Sprintf("with an ETag %v", tags), func(t *testing.T) {
			t.Parallel()
			var text atomic.Value
			var whole atomic.Int32 // answers that had the document in them
			document := func(paths ...string) {
				all := "openapi: 3.1.0\ninfo: {title: Cats, version: '1'}\nservers: [{url: 'https://cats.example.com'}]\npaths:\n"
				for _, p := range paths {
					all += "  /" + p + ": {get: {operationId: " + p + ", responses: {'200': {description: ok}}}}\n"
				}
				text.Store(all)
			}
			document("cats", "dogs")
			home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				now, _ := text.Load().(string)
				if tag := fmt.Sprintf(`"%s"`, digest([]byte(now))); tags {
					w.Header().Set("ETag", tag)
					if r.Header.Get("If-None-Match") == tag {
						w.WriteHeader(http.StatusNotModified)
						return
					}
				}
				whole.Add(1)
				_, _ = io.WriteString(w, now)
			}))
			t.Cleanup(home.Close)
			log := &output.Buffer{}
			s := newRegistry(t, log)
			p := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerLocal, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
			_, err := s.addGenerated(t.Context(), p, admin.ServerInput{Server: junctor.Server{ID: "cats", API: &junctor.API{APISettings: junctor.APISettings{DocumentURL: home.URL + "/api.yaml", PollMinutes: 1}}}})
			if err != nil {
				t.Fatal(err)
			}
			w := &polledDocument{}
			look := func() (warnings, tools int) {
				t.Helper()
				before := strings.Count(log.String(), "breaking changes")
				s.checkDocument(context.Background(), junctor.Server{Tenant: p.Tenant, ID: "cats"}, w)
				offer, err := s.findGenerated(serverKey{p.Tenant, "cats"}).Offer(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return strings.Count(log.String(), "breaking changes") - before, len(offer.Tools)
			}
			for i, step := range []struct {
				paths           []string
				warnings, tools int
			}{
				{[]string{"cats", "dogs"}, 0, 2},
				{[]string{"cats"}, 1, 2},
				{[]string{"cats"}, 0, 2},
				{[]string{"cats"}, 0, 2},
				{[]string{"dogs"}, 1, 2},
				{[]string{"dogs"}, 0, 2},
				{[]string{"cats", "dogs", "owls"}, 0, 3},
				{[]string{"owls"}, 1, 3},
				{[]string{"owls"}, 0, 3},
			} {
				document(step.paths...)
				if warnings, tools := look(); warnings != step.warnings || tools != step.tools {
					t.Errorf("step %d: %d warnings and %d tools, want %d and %d", i, warnings, tools, step.warnings, step.tools)
				}
			}
			if n := whole.Load(); tags && n != 5 {
				t.Errorf("the document was sent %d times, and was another 5 times", n)
			}
		})
	}
}

// TestDue: a document is looked at as often as its server says, and one that is
// not looked at any more is forgotten.
func TestDue(t *testing.T) {
	t.Parallel()
	row := junctor.Server{ID: "cats", API: &junctor.API{APISettings: junctor.APISettings{PollMinutes: 2}}}
	key := serverKey{"", "cats"}
	s := &Registry{made: map[serverKey]*generatedServer{key: {row: row}}}
	all, begin := map[serverKey]*polledDocument{}, time.Now()
	for after, want := range []int{0, 0, 1, 0, 1} {
		if got := s.dueDocuments(begin.Add(time.Duration(after)*time.Minute), all); len(got) != want {
			t.Errorf("after %d minutes: %d", after, len(got))
		}
	}
	delete(s.made, key)
	if s.dueDocuments(begin, all); len(all) != 0 {
		t.Errorf("%d are still known", len(all))
	}
}

// newRegistry makes servers over a database of their own. They may reach this machine.
func newRegistry(t *testing.T, log io.Writer) *Registry {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(log, nil))
	rows, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "junctor.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close() })
	out, err := egress.New(egress.Options{Allow: egress.LoopbackPrefixes(), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	shown := catalog.New(catalog.Options{Logger: logger})
	t.Cleanup(shown.Close)
	var ids atomic.Int64
	s := New(Options{
		Store: rows, Catalog: shown, Egress: out, Bytes: limit.NewByteBudget(limit.ByteBudgetOptions{Total: 64 << 20, PerParty: 32 << 20}), Log: logger, MaxResult: 1 << 20,
		NewID: func() string { return strconv.FormatInt(ids.Add(1), 10) },
	})
	t.Cleanup(s.Close)
	return s
}
