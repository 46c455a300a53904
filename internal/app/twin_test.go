package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// The twin must record nothing, or it says nothing about what recording costs;
// and an instance that is no twin records the same call three times.
func TestVariantWithoutGatesRecordsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []app.Option
		want bool
	}{
		"usual":   {nil, true},
		"twin":    {[]app.Option{app.WithoutRecords()}, false},
		"ungated": {[]app.Option{app.WithoutGates()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := testkit.Start(t, nil, c.opts...)
			r := i.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"said-once"}}}`)
			if !strings.Contains(r.Body, "said-once") {
				t.Fatalf("status %d, %s", r.Status, r.Body)
			}
			i.Stop()
			for what, got := range map[string]bool{
				"journal":  holds(t, i.Dir, instance.JournalDir+"/*", `"echo"`),
				"its copy": holds(t, i.Dir, "junctor.db*", `"args_b3":"`), // of a record's line
				"history":  holds(t, i.Dir, "history.db*", "said-once"),
			} {
				if got != c.want {
					t.Errorf("in the %s: %v, want %v", what, got, c.want)
				}
			}
		})
	}
}

// The twin without gates must have none, or it says nothing about what they cost;
// and it still asks who calls.
func TestUngatedPassesEverything(t *testing.T) {
	t.Parallel()
	const limited = 3
	for name, c := range map[string]struct {
		opts []app.Option
		want bool // passes
	}{
		"usual":   {nil, false},
		"ungated": {[]app.Option{app.WithoutGates()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := testkit.Start(t, map[string]string{"rate-limit": "0.001", "rate-burst": "3"}, c.opts...)
			call := func(arguments string) string {
				return i.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":`+arguments+`}}`).Body
			}
			const byTheTool = "cannot be read" // what the schema forbids gets as far as the tool itself
			if got := call(`{"text":"passed","more":1}`); strings.Contains(got, byTheTool) != c.want || strings.Contains(got, `"result"`) {
				t.Errorf("an argument that the schema forbids: %s", got)
			}
			var last string
			for range limited + 1 {
				last = call(`{"text":"passed"}`)
			}
			if strings.Contains(last, `"result"`) != c.want {
				t.Errorf("beyond the limit: %s", last)
			}
			if r := i.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"demo+demo://hello"}}`); c.want && !strings.Contains(r.Body, "error") {
				t.Errorf("it has gates for tools to be without, and reads resources: %s", r.Body)
			}
		})
	}
}

// holds says whether a text lies in one of the files that a pattern names.
func holds(t *testing.T, dir, pattern, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}
