package console

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// The charts of the console show the numbers of the metrics API, lead to the calls that they
// count, and are saved as CSV and PNG.
func TestCharts(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Tell(t, "agent", "add", "helper", "--tool", "demo/*")
	var made struct{ Key string }
	a, err := r.Request(t.Context(), http.MethodPost, "/api/v1/keys", `{"name":"k","agent":"helper","scopes":["tools:read","tools:call"]}`)
	if err != nil || json.Unmarshal([]byte(a.Body), &made) != nil || made.Key == "" {
		t.Fatalf("no key: %v %+v", err, a)
	}
	for name, key := range map[string]string{"an admin": program.AdminKey, "an agent": made.Key} {
		caller := program.NewCaller(t, program.Modern, r.URL, key)
		for _, call := range [][2]string{
			{"demo__add", `{"a":2,"b":40}`},
			{"demo__add", `{"a":1,"b":1}`},
			{"demo__echo", `{"text":"hello"}`},
			{"demo__fail", `{}`},
			{"demo__add", `{"a":"two"}`},
		} {
			if _, err := caller.Call(t.Context(), call[0], call[1]); err != nil {
				t.Fatalf("%s: %s: %v", name, call[0], err)
			}
		}
	}
	if a, err = r.Request(t.Context(), http.MethodPost, "/api/v1/triggers", `{"name":"hello","match":{"type":"greeting"},"action":{"server":"demo","tool":"echo","template":{"text":"hello"}}}`); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("no trigger: %v %+v", err, a)
	}
	r.Tell(t, "event", "send", "greeting", "--data", `{}`)
	r.run(t, "charts_console.mjs", r.Link(t, "ada"))
}
