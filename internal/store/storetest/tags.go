package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
)

func tagTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"tags/the last word counts": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(brought("notes"))))(t)
			a := junctor.ToolTag{Server: "notes", Tool: "b", Roles: []junctor.Role{"QA", "Öl"}, Category: "Search", By: "user:u", At: moment(1)}
			b := junctor.ToolTag{Server: "notes", Tool: "a", Category: "Other", By: "user:u", At: moment(2)}
			ok(t, mine.PutTag(t.Context(), junctor.ToolTag{Server: "notes", Tool: "b", Roles: []junctor.Role{"Dev"}, At: moment(0)}))
			ok(t, mine.PutTag(t.Context(), a))
			ok(t, mine.PutTag(t.Context(), b))
			if diff := cmp.Diff([]junctor.ToolTag{b, a}, must(t.open().For(junctor.DefaultTenant).Tags(t.Context()))(t), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			fails(t, mine.PutTag(t.Context(), junctor.ToolTag{Server: "never", Tool: "a"}), junctor.CodeNotFound)
			fails(t, st.For("acme").PutTag(t.Context(), a), junctor.CodeNotFound)
			if list := must(st.For("acme").Tags(t.Context()))(t); len(list) != 0 {
				t.Errorf("another tenant's tags: %+v", list)
			}
			for range 2 {
				ok(t, mine.DeleteTag(t.Context(), "notes", "b"))
			}
			ok(t, st.For("acme").DeleteTag(t.Context(), "notes", "a"))
			if list := must(mine.Tags(t.Context()))(t); len(list) != 1 || list[0].Tool != "a" {
				t.Errorf("after a deletion: %+v", list)
			}
			ok(t, mine.RemoveServer(t.Context(), "notes"))
			if list := must(mine.Tags(t.Context()))(t); len(list) != 0 {
				t.Errorf("after its server is gone: %+v", list)
			}
		},
		"changes/the newest are kept": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(brought("notes"))))(t)
			change := func(tool string, n int) junctor.ToolChange {
				return junctor.ToolChange{
					ID: fmt.Sprintf("%s%02d", tool, n), Server: "notes", Tool: tool, BeforeDigest: "b", AfterDigest: "a",
					Before: []byte(`{"z":1,"a":"é"}`), After: []byte(`{}`), SeenAt: moment(n),
				}
			}
			const more = store.KeepChanges + 5
			for n := range more {
				ok(t, mine.AddChanges(t.Context(), []junctor.ToolChange{change("x", n)}))
			}
			fresh := change("y", 1)
			fresh.BeforeDigest, fresh.Before = "", nil
			ok(t, mine.AddChanges(t.Context(), []junctor.ToolChange{fresh}))
			ok(t, mine.AddChanges(t.Context(), nil))
			list := must(mine.Changes(t.Context(), "", "", 100))(t)
			if len(list) != store.KeepChanges+1 || list[len(list)-1].Tool != "y" {
				t.Fatalf("%d changes are kept", len(list))
			}
			if diff := cmp.Diff(change("x", more-1), list[0]); diff != "" {
				t.Errorf("the newest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(fresh, list[len(list)-1], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a new tool (-want +got):\n%s", diff)
			}
			again := change("x", more-2)
			again.SeenAt = moment(more)
			ok(t, mine.AddChanges(t.Context(), []junctor.ToolChange{again}))
			if list := must(mine.Changes(t.Context(), "notes", "x", 1))(t); len(list) != 1 || list[0].ID != again.ID {
				t.Errorf("a change that was seen again: %+v", list)
			}
			if list := must(mine.Changes(t.Context(), "never", "", 10))(t); len(list) != 0 {
				t.Errorf("of another server: %+v", list)
			}
			fails(t, t.open().For("acme").AddChanges(t.Context(), []junctor.ToolChange{change("x", 1)}), junctor.CodeNotFound)
			if list := must(t.open().For("acme").Changes(t.Context(), "", "", 10))(t); len(list) != 0 {
				t.Errorf("another tenant's: %+v", list)
			}
			ok(t, mine.RemoveServer(t.Context(), "notes"))
			if list := must(mine.Changes(t.Context(), "", "", 10))(t); len(list) != 0 {
				t.Errorf("after its server is gone: %+v", list)
			}
		},
	}
}
