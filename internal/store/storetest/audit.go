package storetest

import (
	"fmt"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
)

func record(replica string, seq uint64) store.AuditRecord {
	return store.AuditRecord{Replica: replica, Seq: seq, Hash: fmt.Sprintf("%064x", seq), Line: fmt.Sprintf(`{"b":%d,"a":"é \u0000 \\"}`, seq)}
}

func records(replica string, from, to uint64) []store.AuditRecord {
	var list []store.AuditRecord
	for seq := from; seq <= to; seq++ {
		list = append(list, record(replica, seq))
	}
	return list
}

// stored reads a replica's records back.
func stored(t *trial, st *store.Store, replica string, after uint64) []store.AuditRecord {
	t.Helper()
	var list []store.AuditRecord
	for r, err := range st.AuditRecords(t.Context(), replica, after) {
		ok(t, err)
		list = append(list, r)
	}
	return list
}

func auditTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"audit/keeps the highest head": func(t *trial) {
			st := t.open()
			if head := must(st.AuditHead(t.Context(), "a"))(t); head != "" {
				t.Errorf("nothing was kept, and it says %q", head)
			}
			ok(t, st.KeepAuditHead(t.Context(), "a", 9, `{"seq":9}`, false))
			ok(t, st.KeepAuditHead(t.Context(), "a", 5, `{"seq":5}`, false))
			ok(t, st.KeepAuditHead(t.Context(), "b", 2, `{"seq":2}`, false))
			if head := must(st.AuditHead(t.Context(), "a"))(t); head != `{"seq":9}` {
				t.Errorf("a lower head has replaced it: %q", head)
			}
			ok(t, st.KeepAuditHead(t.Context(), "a", 12, `{"seq":12}`, false))
			if head := must(st.AuditHead(t.Context(), "a"))(t); head != `{"seq":12}` {
				t.Errorf("a higher head has not: %q", head)
			}
			ok(t, st.KeepAuditHead(t.Context(), "a", 3, `{"seq":3}`, true))
			if head := must(st.AuditHead(t.Context(), "a"))(t); head != `{"seq":3}` {
				t.Errorf("it was to be replaced: %q", head)
			}
			if err := st.KeepAuditHead(t.Context(), "a", 0, "x", false); junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Errorf("a head of no record: %v", err)
			}
		},
		"audit/knows its last record": func(t *trial) {
			st := t.open()
			if seq, hash, err := st.AuditLast(t.Context(), "a"); err != nil || seq != 0 || hash != "" {
				t.Errorf("%d, %q, %v", seq, hash, err)
			}
			ok(t, st.AddAudit(t.Context(), records("a", 1, 7)))
			ok(t, st.AddAudit(t.Context(), records("b", 1, 9)))
			if seq, hash, err := st.AuditLast(t.Context(), "a"); err != nil || seq != 7 || hash != record("a", 7).Hash {
				t.Errorf("%d, %q, %v", seq, hash, err)
			}
		},
		"audit/comes back whole, in order": func(t *trial) {
			st := t.open()
			if n := must(st.AuditShipped(t.Context(), "a"))(t); n != 0 {
				t.Errorf("nothing was shipped, and it says %d", n)
			}
			ok(t, st.AddAudit(t.Context(), nil))
			ok(t, st.AddAudit(t.Context(), records("b", 1, 3)))
			ok(t, st.AddAudit(t.Context(), records("a", 1, 600)))
			odd := store.AuditRecord{Replica: "a", Seq: 601, Hash: "h", Line: strings.Repeat("x", 40_000)}
			ok(t, st.AddAudit(t.Context(), []store.AuditRecord{odd}))
			if diff := cmp.Diff(append(records("a", 1, 600), odd), stored(t, st, "a", 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(records("b", 3, 3), stored(t, st, "b", 2)); diff != "" {
				t.Errorf("after 2 (-want +got):\n%s", diff)
			}
			if n := must(st.AuditShipped(t.Context(), "a"))(t); n != 601 {
				t.Errorf("%d are shipped", n)
			}
			if replicas := must(st.AuditReplicas(t.Context()))(t); cmp.Diff([]string{"a", "b"}, replicas) != "" {
				t.Errorf("replicas %v", replicas)
			}
			for range st.AuditRecords(t.Context(), "a", 0) {
				break // leaving early holds nothing
			}
		},
		"audit/sent again": func(t *trial) {
			st := t.open()
			ok(t, st.AddAudit(t.Context(), records("a", 1, 300)))
			ok(t, st.AddAudit(t.Context(), records("a", 200, 500)))
			if diff := cmp.Diff(records("a", 1, 500), stored(t, st, "a", 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			other := records("a", 499, 502)
			other[0].Hash = "other"
			fails(t, st.AddAudit(t.Context(), other), junctor.CodeConflict)
			other = records("a", 499, 502)
			other[1].Line = "other"
			fails(t, st.AddAudit(t.Context(), other), junctor.CodeConflict)
			// What could not be read back as it was is not taken.
			fails(t, st.AddAudit(t.Context(), append(records("a", 501, 502), records("b", 503, 503)...)), junctor.CodeInvalid)
			fails(t, st.AddAudit(t.Context(), append(records("a", 502, 502), records("a", 501, 501)...)), junctor.CodeInvalid)
			fails(t, st.AddAudit(t.Context(), []store.AuditRecord{{Replica: "a", Seq: 501, Hash: "h", Line: "two\nlines"}}), junctor.CodeInvalid)
			fails(t, st.AddAudit(t.Context(), []store.AuditRecord{{Replica: "a", Seq: 501, Hash: "two words", Line: "x"}}), junctor.CodeInvalid)
			if n := must(st.AuditShipped(t.Context(), "a"))(t); n != 500 {
				t.Errorf("a refused batch left %d", n)
			}
		},
		"audit/pruned page by page": func(t *trial) {
			st := t.open()
			for seq := uint64(1); seq <= 300; seq++ { // more pages than one transaction takes
				ok(t, st.AddAudit(t.Context(), records("a", seq, seq)))
			}
			if n := must(st.PruneAudit(t.Context(), "a", 290))(t); n != 290 {
				t.Errorf("%d pruned", n)
			}
			if diff := cmp.Diff(records("a", 291, 300), stored(t, st, "a", 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
		"audit/pruned from the beginning": func(t *trial) {
			st := t.open()
			ok(t, st.AddAudit(t.Context(), records("a", 1, 1500)))
			ok(t, st.AddAudit(t.Context(), records("b", 1, 5)))
			if n := must(st.PruneAudit(t.Context(), "a", 1490))(t); n != 1490 {
				t.Errorf("%d pruned", n)
			}
			if n := must(st.PruneAudit(t.Context(), "a", 1490))(t); n != 0 {
				t.Errorf("%d pruned twice", n)
			}
			if diff := cmp.Diff(records("a", 1491, 1500), stored(t, st, "a", 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(stored(t, st, "b", 0)); n != 5 {
				t.Errorf("another replica has %d left", n)
			}
		},
		"audit/replicas ship at once": func(t *trial) {
			stores := []*store.Store{t.open(), t.open()}
			var wg sync.WaitGroup
			for n, st := range stores {
				wg.Go(func() {
					for from := uint64(1); from < 400; from += 40 {
						if err := st.AddAudit(t.Context(), records(fmt.Sprint("replica", n), from, from+39)); err != nil {
							t.Errorf("replica %d: %v", n, err)
						}
					}
				})
			}
			wg.Wait()
			for n := range stores {
				if got := stored(t, stores[0], fmt.Sprint("replica", n), 0); len(got) != 400 {
					t.Errorf("replica %d has %d records", n, len(got))
				}
			}
		},
	}
}
