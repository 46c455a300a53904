package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
			} {
				if got, total, err := mine.AdminChanges(t.Context(), &tt.f, &junctor.RowPage{Limit: 100}); err != nil || len(got) != tt.want || total != junctor.NewRowTotal(tt.want) {
					t.Errorf("%s: %d of %v, want %d; %v", tt.name, len(got), total, tt.want, err)
				}
			}
			for words, want := range map[string]int{`title":"50%`: 10, "t_tle": 0, "50% notes1": 5, "delete-key ci": 1} {
				if got, total, err := mine.AdminChanges(t.Context(), &junctor.AdminChangeFilter{}, &junctor.RowPage{Limit: 2, Words: strings.Fields(words)}); err != nil || len(got) != min(want, 3) || total.Rows != want {
					t.Errorf("%q: %d of %v, want %d; %v", words, len(got), total, want, err)
				}
			}
			// Two changes are of one moment: their IDs order them.
			twin := adminChange(junctor.DefaultTenant, 5)
			twin.ID = "c5a"
			ok(t, st.AddAdminChange(t.Context(), &twin))
			want := []string{"c9", "c8", "c7", "c6", "c5a", "c5", "c4", "c3", "c2", "c1", "c0"}
			for _, ascending := range []bool{false, true} {
				var seen []string
				page := junctor.RowPage{Limit: 4, Ascending: ascending}
				for {
					list, total, err := mine.AdminChanges(t.Context(), &junctor.AdminChangeFilter{}, &page)
					ok(t, err)
					if total.Rows != len(want) {
						t.Errorf("the total is %v", total)
					}
					for _, c := range list[:min(len(list), page.Limit)] {
						seen = append(seen, c.ID)
					}
					if len(list) <= page.Limit {
						break
					}
					last := &list[page.Limit-1]
					page.Key, page.ID = strconv.FormatInt(last.At.UnixMicro(), 10), last.ID
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				slices.Reverse(want)
			}
			if got, total, err := st.For("acme").AdminChanges(t.Context(), &junctor.AdminChangeFilter{}, &junctor.RowPage{Limit: 100}); err != nil || len(got) != 1 || got[0].Tenant != "acme" || total.Rows != 1 {
				t.Errorf("%+v %v %v", got, total, err)
			}
		},
	}
}
