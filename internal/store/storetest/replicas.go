package storetest

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

func replicaTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"replicas/come, are seen and go": func(t *trial) {
			st, ctx := t.open(), t.Context()
			a := store.Replica{ID: "a", Name: "one", URL: "http://127.0.0.1:1", Version: "1"}
			if all := must(st.SeeReplica(ctx, a))(t); len(all) != 1 || all[0].URL != a.URL || all[0].Name != "one" || all[0].Version != "1" || all[0].StartedAt.IsZero() {
				t.Fatalf("%+v", all)
			}
			a.URL = "http://127.0.0.1:2"
			must(st.SeeReplica(ctx, store.Replica{ID: "b", Name: "two"}))(t)
			all := must(t.open().SeeReplica(ctx, a))(t)
			if len(all) != 2 || all[0].ID != "a" || all[0].URL != a.URL || all[1].ID != "b" {
				t.Fatalf("%+v", all)
			}
			if all[0].Silent < 0 || all[0].Silent > 30*time.Second {
				t.Errorf("who was seen just now is silent for %v", all[0].Silent)
			}
			ok(t, st.LeaveReplica(ctx, "a"))
			if all := must(st.Replicas(ctx))(t); len(all) != 1 || all[0].ID != "b" {
				t.Errorf("%+v", all)
			}
		},
		"homes/who lives keeps what it holds": func(t *trial) {
			st, ctx := t.open(), t.Context()
			ok(t, st.EnsureTenant(ctx, "acme", "Acme"))
			for _, id := range []string{"a", "b"} {
				must(st.SeeReplica(ctx, store.Replica{ID: id, Name: id}))(t)
			}
			acme, other := st.For("acme"), st.For(junctor.DefaultTenant)
			hold := func(rows *store.Tenant, replica string, gone time.Duration) string {
				t.Helper()
				return must(rows.Home(ctx, "x", replica, gone))(t)
			}
			if got := hold(acme, "a", time.Hour); got != "a" {
				t.Fatalf("the first who asks holds it, not %s", got)
			}
			if got := hold(acme, "b", time.Hour); got != "a" {
				t.Fatalf("%s took it from one who lives", got)
			}
			if got := hold(other, "b", time.Hour); got != "b" {
				t.Fatalf("another tenant's is held by %s", got)
			}
			ok(t, st.LeaveReplica(ctx, "a"))
			if got := hold(acme, "b", time.Hour); got != "b" {
				t.Fatalf("who is gone still holds it: %s", got)
			}
			must(st.SeeReplica(ctx, store.Replica{ID: "c", Name: "c"}))(t)
			if got := hold(acme, "c", -time.Hour); got != "c" { // b was not seen in the next hour
				t.Fatalf("who is silent still holds it: %s", got)
			}
			ok(t, st.LeaveHomes(ctx, "c"))
			if got := hold(acme, "b", time.Hour); got != "b" {
				t.Fatalf("what was let go of is held by %s", got)
			}
		},
		"homes/what the living hold is listed": func(t *trial) {
			st, ctx := t.open(), t.Context()
			ok(t, st.EnsureTenant(ctx, "acme", "Acme"))
			for _, id := range []string{"a", "b"} {
				must(st.SeeReplica(ctx, store.Replica{ID: id, Name: id}))(t)
			}
			for name, replica := range map[string]string{"server:x": "a", "server:y": "b", "serve": "a", "party:server:x": "a"} {
				must(st.For("acme").Home(ctx, name, replica, time.Hour))(t)
			}
			must(st.For(junctor.DefaultTenant).Home(ctx, "server:x", "b", time.Hour))(t)
			listed := func(gone time.Duration) map[store.Held]bool {
				t.Helper()
				all := map[store.Held]bool{}
				for _, one := range must(st.Homes(ctx, "server:", gone))(t) {
					all[one] = true
				}
				return all
			}
			want := map[store.Held]bool{{Tenant: "acme", Name: "server:x", Replica: "a"}: true, {Tenant: "acme", Name: "server:y", Replica: "b"}: true, {Tenant: junctor.DefaultTenant, Name: "server:x", Replica: "b"}: true}
			if got := listed(time.Hour); !maps.Equal(got, want) {
				t.Errorf("held: %v", got)
			}
			ok(t, st.LeaveReplica(ctx, "b"))
			if got := listed(time.Hour); !maps.Equal(got, map[store.Held]bool{{Tenant: "acme", Name: "server:x", Replica: "a"}: true}) {
				t.Errorf("held by who lives: %v", got)
			}
			if got := listed(-time.Hour); len(got) != 0 {
				t.Errorf("held by who is silent: %v", got)
			}
		},
		"homes/of many who want it one has it": func(t *trial) {
			stores := []*store.Store{t.open(), t.open()}
			for n := range 16 {
				must(stores[0].SeeReplica(t.Context(), store.Replica{ID: strconv.Itoa(n)}))(t)
			}
			var got [16]string
			var work sync.WaitGroup
			for n := range 16 {
				work.Go(func() {
					home, err := stores[n%2].For(junctor.DefaultTenant).Home(t.Context(), "x", strconv.Itoa(n), time.Hour)
					if err != nil {
						t.Errorf("Home: %v", err)
					}
					got[n] = home
				})
			}
			work.Wait()
			for _, home := range got {
				if home == "" || home != got[0] {
					t.Errorf("they do not agree: %q", got)
				}
			}
		},
		"leases/one has it, until it ends": func(t *trial) {
			st, ctx := t.open(), t.Context()
			take := func(replica string, life time.Duration) (int64, bool) {
				t.Helper()
				fence, held, err := st.TakeLease(ctx, "work", replica, life)
				ok(t, err)
				return fence, held
			}
			if fence, held := take("a", time.Hour); !held || fence != 1 {
				t.Fatalf("the first: %d %t", fence, held)
			}
			if _, held := take("b", time.Hour); held {
				t.Fatal("two have it")
			}
			if fence, held := take("a", time.Hour); !held || fence != 1 {
				t.Fatalf("kept: %d %t", fence, held)
			}
			ok(t, st.DropLease(ctx, "work", "b")) // not its own
			if _, held := take("b", time.Hour); held {
				t.Fatal("somebody gave back what another has")
			}
			ok(t, st.DropLease(ctx, "work", "a"))
			if fence, held := take("b", 0); !held || fence != 2 {
				t.Fatalf("given back: %d %t", fence, held)
			}
			if fence, held := take("a", time.Hour); !held || fence != 3 { // b's has run out
				t.Fatalf("run out: %d %t", fence, held)
			}
		},
		"leases/are listed": func(t *trial) {
			st, ctx := t.open(), t.Context()
			for _, name := range []string{"work", "play"} {
				if _, held, err := st.TakeLease(ctx, name, "a", time.Hour); err != nil || !held {
					t.Fatalf("%s: %t %v", name, held, err)
				}
			}
			ok(t, st.DropLease(ctx, "play", "a"))
			all := must(st.Leases(ctx))(t)
			if len(all) != 2 || all[0] != (store.Lease{Name: "play", Replica: "a", Fence: 1}) {
				t.Fatalf("%+v", all)
			}
			if l := all[1]; l.Name != "work" || l.Replica != "a" || l.Fence != 1 || l.Left <= time.Minute || l.Left > time.Hour {
				t.Errorf("%+v", l)
			}
		},
		"cluster/the clock and the schema of the database": func(t *trial) {
			st, ctx := t.open(), t.Context()
			before, now := time.Now(), must(st.Clock(ctx))(t)
			if off := now.Sub(before); off < -time.Minute || off > time.Minute { // the same machine's
				t.Errorf("its clock is %v off", off)
			}
			if version := must(st.SchemaVersion(ctx))(t); version < 27 {
				t.Errorf("its schema has version %d", version)
			}
		},
		"leases/of many who want it one has it": func(t *trial) {
			stores := []*store.Store{t.open(), t.open()}
			var held atomic.Int64
			var work sync.WaitGroup
			for n := range 16 {
				work.Go(func() {
					_, got, err := stores[n%2].TakeLease(t.Context(), "work", strconv.Itoa(n), time.Hour)
					if err != nil {
						t.Errorf("TakeLease: %v", err)
					}
					if got {
						held.Add(1)
					}
				})
			}
			work.Wait()
			if held.Load() != 1 {
				t.Errorf("%d have it", held.Load())
			}
		},
	}
}
