package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

func task(id, subject string, expires int) junctor.Task {
	return junctor.Task{
		ID: id, Issuer: "key", Subject: subject, Server: "notes", Tool: "slow", Version: "1", Own: "own-" + id,
		State: []byte("{\"status\":\"working\"}\x00"), Created: moment(1), Expires: moment(expires),
	}
}

func taskTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"tasks/kept, changed and gone with their server": func(t *trial) {
			first := t.open()
			st := first.For(junctor.DefaultTenant)
			fails(t, st.AddTask(t.Context(), task("a", "alice", 10)), junctor.CodeNotFound)
			_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			ok(t, st.AddTask(t.Context(), task("a", "alice", 10)))
			fails(t, st.AddTask(t.Context(), task("a", "bob", 10)), junctor.CodeConflict)
			ok(t, first.Close())

			again := t.open()
			st = again.For(junctor.DefaultTenant)
			if diff := cmp.Diff(task("a", "alice", 10), must(st.Task(t.Context(), "a"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			ok(t, st.SetTask(t.Context(), "a", []byte("done"), moment(20)))
			ok(t, st.SetTask(t.Context(), "none", []byte("done"), moment(20)))
			if got := must(st.Task(t.Context(), "a"))(t); string(got.State) != "done" || !got.Expires.Equal(moment(20)) {
				t.Errorf("changed to %+v", got)
			}
			_, err := again.For("acme").Task(t.Context(), "a")
			fails(t, err, junctor.CodeNotFound)
			ok(t, st.RemoveServer(t.Context(), "notes"))
			_, err = st.Task(t.Context(), "a")
			fails(t, err, junctor.CodeNotFound)
		},
		"tasks/listed by principal, and swept": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			for n := range 5 {
				ok(t, mine.AddTask(t.Context(), task(fmt.Sprint("a", n), "alice", 10+n)))
			}
			ok(t, mine.AddTask(t.Context(), task("b", "bob", 100)))
			ids := func(after string, now, most int) (all string) {
				for _, got := range must(mine.TasksOf(t.Context(), "key", "alice", after, moment(now), most))(t) {
					all += got.ID + " "
				}
				return all
			}
			if got := ids("", 10, 2) + "| " + ids("a2", 10, 9) + "| " + ids("a4", 10, 9); got != "a1 a2 | a3 a4 | " {
				t.Errorf("listed %s", got)
			}
			if n := must(st.Sweep(t.Context(), moment(12)))(t); n != 3 {
				t.Errorf("swept %d rows, want 3", n)
			}
			if got := ids("", 0, 9); got != "a3 a4 " {
				t.Errorf("left %s", got)
			}
		},
	}
}
