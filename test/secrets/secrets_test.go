// Package secrets sends secrets through every endpoint, rightly and wrongly, and
// then looks for them wherever they must not be: files, logs, errors, metrics
// and the answers to others.
package secrets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// least is how many secrets a scenario must have planted.
const least = 40

// hunt plants secrets and looks for them.
type hunt struct {
	t       *testing.T
	set     *canary.Set
	unnamed []string        // secrets that went in under a name that says nothing
	seen    map[string]bool // leaks that were reported
	looks   int             // texts and files that were looked through
}

func newHunt(t *testing.T) *hunt {
	t.Helper()
	return &hunt{t: t, set: canary.New(0), seen: map[string]bool{}}
}

// plant makes a secret. The name says where it went in.
func (h *hunt) plant(name string) string { return h.set.Make(name) }

// plantUnnamed makes a secret that goes in under a name, or as a text, that
// nobody can know to be secret. The history of calls, which keeps what was said,
// may hold it; nothing else may.
func (h *hunt) plantUnnamed(name string) string {
	h.unnamed = append(h.unnamed, name)
	return h.plant(name)
}

// history says whether a place is the history of calls: its database, its
// tables, its routes.
func history(where string) bool {
	return strings.HasPrefix(filepath.Base(where), "history.db") || strings.HasPrefix(where, "table public.history_") ||
		strings.HasPrefix(where, "GET /api/v1/calls")
}

// text looks through something that was said. own names the secrets that it may
// hold, because they are the caller's own result.
func (h *hunt) text(where, text string, own ...string) {
	h.t.Helper()
	h.looks++
	h.report(h.set.Text(where, text), own...)
}

// tree looks through every file of a folder. Those that hold keys by design, and
// are guarded as keys, are left out by their secrets' names.
func (h *hunt) tree(dir string, own ...string) {
	h.t.Helper()
	hits, files, err := h.set.Tree(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	if files == 0 {
		h.t.Fatalf("there is nothing in %s", dir)
	}
	h.looks += files
	h.report(hits, own...)
}

func (h *hunt) report(hits []canary.Hit, own ...string) {
	h.t.Helper()
	for _, hit := range hits {
		if slices.Contains(own, hit.Secret) || history(hit.Where) && slices.Contains(h.unnamed, hit.Secret) {
			continue
		}
		key := hit.Secret + " in " + hit.Where
		if !h.seen[key] { // once for each place is enough
			h.seen[key] = true
			h.t.Errorf("leaked: %v", hit)
		}
	}
}

// done says what was done, and that it was enough.
func (h *hunt) done(name string) {
	h.t.Helper()
	if h.set.Len() < least {
		h.t.Errorf("only %d secrets were planted, want %d", h.set.Len(), least)
	}
	if h.t.Failed() {
		return
	}
	h.t.Logf("figure: %s: %d secrets planted, %d texts and files searched, 0 found", name, h.set.Len(), h.looks)
}
