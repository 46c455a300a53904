package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

func instanceTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"instance/one id for all": func(t *trial) {
			stores := []*store.Store{t.open(), t.open()}
			ids := make(chan string, 16)
			for n := range cap(ids) {
				go func() {
					id, err := stores[n%2].Instance(t.Context())
					if err != nil {
						t.Errorf("Instance: %v", err)
					}
					ids <- id
				}()
			}
			first := <-ids
			for range cap(ids) - 1 {
				if id := <-ids; id != first || id == "" {
					t.Errorf("the instance is %q and %q", first, id)
				}
			}
			if id := must(t.open().Instance(t.Context()))(t); id != first {
				t.Errorf("the instance was %q and is %q", first, id)
			}
		},
		"ring/added and retired": func(t *trial) {
			st := t.open()
			if ring := must(st.RingKeys(t.Context()))(t); len(ring) != 0 {
				t.Fatalf("a fresh ring has %+v", ring)
			}
			key := func(id string, at time.Time) store.RingKey {
				return store.RingKey{ID: id, CreatedAt: at, Wrapped: []byte("\x00wrapped " + id + "\xff")}
			}
			ring := []store.RingKey{key("c", moment(1)), key("a", moment(2)), key("b", moment(3))}
			for _, n := range []int{2, 0, 1} {
				ok(t, st.AddRingKey(t.Context(), ring[n]))
			}
			fails(t, st.AddRingKey(t.Context(), key("a", moment(9))), junctor.CodeConflict)
			if diff := cmp.Diff(ring, must(st.RingKeys(t.Context()))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			ok(t, st.DeleteRingKeys(t.Context(), moment(2)))
			if diff := cmp.Diff(ring[1:], must(st.RingKeys(t.Context()))(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
	}
}
