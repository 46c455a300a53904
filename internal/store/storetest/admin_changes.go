package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

// adminChange is the n-th change of a tenant.
func adminChange(tenant junctor.TenantID, n int) junctor.AdminChange {
	return junctor.AdminChange{
		ID: fmt.Sprint("c", n), Tenant: tenant, At: moment(n), Status: junctor.ChangeRunning, EntryPoint: junctor.ChangeByConsole, Address: "::1",
		Issuer: junctor.IssuerUser, Subject: "u1", Actor: "Zoë", User: "u1", Client: "é", Action: "patch-server", Object: "server", ObjectID: fmt.Sprint("notes", n%2),
		Before: json.RawMessage(`{"title":"50%","é":"\u0000"}`), Replica: "a",
	}
}

func adminChangeTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"changes/are kept from their beginning to their record": func(t *trial) {
			st := t.open()
			c := adminChange(junctor.DefaultTenant, 1)
			ok(t, st.AddAdminChange(t.Context(), &c))
			fails(t, st.AddAdminChange(t.Context(), &c), junctor.CodeConflict)
			other := adminChange(junctor.DefaultTenant, 2)
			other.Replica = "b"
			ok(t, st.AddAdminChange(t.Context(), &other))
			open := must(st.UnrecordedAdminChanges(t.Context(), "a", 10))(t)
			if diff := cmp.Diff([]junctor.AdminChange{c}, open); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			c.Status, c.ObjectID, c.After = junctor.ChangeDone, "notes", json.RawMessage(`{ "title" : 1 }`)
			ok(t, st.EndAdminChange(t.Context(), &c))
			c.Seq = 7
			ok(t, st.SetAdminChangeRecord(t.Context(), &c))
			again := c
			again.Seq, again.Status = 9, junctor.ChangeInterrupted
			ok(t, st.SetAdminChangeRecord(t.Context(), &again))
			ok(t, st.EndAdminChange(t.Context(), &again))
			ok(t, st.DropAdminChange(t.Context(), &again))
			if diff := cmp.Diff(c, must(t.open().For(junctor.DefaultTenant).AdminChange(t.Context(), c.ID))(t)); diff != "" {
				t.Errorf("what is recorded has changed: -want +got:\n%s", diff)
			}
			if got := must(st.UnrecordedAdminChanges(t.Context(), "a", 10))(t); len(got) != 0 {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff([]junctor.AdminChange{c}, must(st.ReplicaAdminChanges(t.Context(), "a"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			ok(t, st.PruneAdminChanges(t.Context(), "a", 6))
			must(st.For(junctor.DefaultTenant).AdminChange(t.Context(), c.ID))(t)
			ok(t, st.PruneAdminChanges(t.Context(), "a", 7))
			_, err := st.For(junctor.DefaultTenant).AdminChange(t.Context(), c.ID)
			fails(t, err, junctor.CodeNotFound)
			ok(t, st.PruneAdminChanges(t.Context(), "b", 99))
			must(st.For(junctor.DefaultTenant).AdminChange(t.Context(), other.ID))(t) // it has no record yet
			ok(t, st.DropAdminChange(t.Context(), &other))
			_, err = st.For(junctor.DefaultTenant).AdminChange(t.Context(), other.ID)
			fails(t, err, junctor.CodeNotFound)
		},
		"changes/are listed by actor, object, action, time and text": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "acme"))
			for n := range 10 {
				c := adminChange(junctor.DefaultTenant, n)
				if n == 3 {
					c.Issuer, c.Subject, c.Actor, c.User, c.Action, c.Object, c.EntryPoint = junctor.IssuerKey, "k3", "ci", "", "delete-key", "key", junctor.ChangeByAPI
				}
				ok(t, st.AddAdminChange(t.Context(), &c))
			}
			theirs := adminChange("acme", 1)
			ok(t, st.AddAdminChange(t.Context(), &theirs))
			mine := st.For(junctor.DefaultTenant)
			for _, tt := range []struct {
				name string
				f    junctor.AdminChangeFilter
				want int
			}{
				{"all", junctor.AdminChangeFilter{}, 10},
				{"actor by id", junctor.AdminChangeFilter{Actor: "k3"}, 1},
				{"actor by name", junctor.AdminChangeFilter{Actor: "Zoë"}, 9},
				{"another actor", junctor.AdminChangeFilter{Actor: "nobody"}, 0},
				{"kind", junctor.AdminChangeFilter{Object: "server"}, 9},
				{"object", junctor.AdminChangeFilter{Object: "server", ObjectID: "notes1"}, 4},
				{"action", junctor.AdminChangeFilter{Action: "delete-key"}, 1},
				{"entry point", junctor.AdminChangeFilter{EntryPoint: junctor.ChangeByAPI}, 1},
				{"since", junctor.AdminChangeFilter{Since: moment(8)}, 2},
				{"until", junctor.AdminChangeFilter{Until: moment(8)}, 8},
				{"text", junctor.AdminChangeFilter{Text: "TITLE\":\"50%"}, 10},
				{"text is no pattern", junctor.AdminChangeFilter{Text: "t_tle"}, 0},
			} {
				tt.f.Limit = 100
				if got := must(mine.AdminChanges(t.Context(), &tt.f))(t); len(got) != tt.want {
					t.Errorf("%s: %d, want %d", tt.name, len(got), tt.want)
				}
			}
			var seen []string
			f := junctor.AdminChangeFilter{Limit: 4}
			for {
				page := must(mine.AdminChanges(t.Context(), &f))(t)
				if len(page) == 0 {
					break
				}
				for _, c := range page {
					seen = append(seen, c.ID)
				}
				f.BeforeAt, f.BeforeID = page[len(page)-1].At, page[len(page)-1].ID
			}
			if diff := cmp.Diff([]string{"c9", "c8", "c7", "c6", "c5", "c4", "c3", "c2", "c1", "c0"}, seen); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := must(st.For("acme").AdminChanges(t.Context(), &junctor.AdminChangeFilter{Limit: 100}))(t); len(got) != 1 || got[0].Tenant != "acme" {
				t.Errorf("%+v", got)
			}
		},
	}
}
