package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

func traceTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"traces/the last ones of each are kept": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("other"))))(t)
			ok(t, mine.CreateUser(t.Context(), user("ann", "Ann")))
			n := 0
			add := func(server, user string, good bool) junctor.Trace {
				n++
				trace := junctor.Trace{
					ID: fmt.Sprintf("%08d", n), Server: server, User: user, What: junctor.TraceRefresh, At: moment(n), OK: good, Verdict: "é",
					Steps: []junctor.TraceStep{{Name: "a step", Sent: map[string]string{"resource": "x"}, Status: 200, OK: good, Verdict: "v"}},
				}
				ok(t, mine.AddTrace(t.Context(), trace))
				return trace
			}
			broken := add("notes", "", false)
			theirs := add("notes", "ann", true)
			var last junctor.Trace
			for range 25 {
				last = add("notes", "", true)
			}
			add("other", "", true)
			all := must(t.open().For(junctor.DefaultTenant).Traces(t.Context(), "notes", "", 100))(t)
			if len(all) != 12 {
				t.Fatalf("%d are kept", len(all))
			}
			if diff := cmp.Diff([]junctor.Trace{last, theirs, broken}, []junctor.Trace{all[0], all[10], all[11]}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := must(mine.Traces(t.Context(), "notes", "ann", 100))(t); len(got) != 1 || got[0].User != "ann" {
				t.Errorf("those of one user: %+v", got)
			}
			if got := must(mine.Traces(t.Context(), "notes", "", 3))(t); len(got) != 3 {
				t.Errorf("%d, want 3", len(got))
			}
			if got := must(st.For("acme").Traces(t.Context(), "notes", "", 100))(t); len(got) != 0 {
				t.Errorf("another tenant sees %+v", got)
			}
			// What is of somebody who is no more goes with them, and none comes later.
			ok(t, mine.DeleteUser(t.Context(), "ann", moment(99)))
			add("notes", "ann", true)
			ok(t, mine.RemoveServer(t.Context(), "other"))
			add("other", "", true)
			if got := must(mine.Traces(t.Context(), "notes", "", 100))(t); len(got) != 11 {
				t.Errorf("%d, want 11", len(got))
			}
			if got := must(mine.Traces(t.Context(), "other", "", 100))(t); len(got) != 0 {
				t.Errorf("of a server that is gone: %+v", got)
			}
		},
	}
}
