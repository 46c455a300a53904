package storetest

import (
	"errors"
	"fmt"
	"sync"

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
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
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
		"tags/a change is for one version": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			tag := func(category string) junctor.ToolTag {
				return junctor.ToolTag{Server: "notes", Tool: "a", Category: category, By: "user:u", At: moment(1)}
			}
			only := func() junctor.ToolTag {
				list := must(mine.Tags(t.Context()))(t)
				if len(list) != 1 {
					t.Fatalf("%d tags", len(list))
				}
				return list[0]
			}
			fails(t, mine.ReplaceTag(t.Context(), tag("none yet"), moment(1)), junctor.CodePrecondition)
			ok(t, mine.PutTag(t.Context(), tag("first")))
			read := only()
			ok(t, mine.PutTag(t.Context(), tag("second"))) // at the same moment
			if now := only(); !now.At.After(read.At) {
				t.Errorf("another tag has the version %v, as the one before", now.At)
			}
			fails(t, mine.ReplaceTag(t.Context(), tag("stale"), read.At), junctor.CodePrecondition)
			fails(t, t.open().For("acme").ReplaceTag(t.Context(), tag("theirs"), only().At), junctor.CodePrecondition)
			if now := only(); now.Category != "second" {
				t.Errorf("a change for an older version is stored: %+v", now)
			}
			read = only()
			ok(t, mine.ReplaceTag(t.Context(), tag("third"), read.At))
			fails(t, mine.ReplaceTag(t.Context(), tag("again"), read.At), junctor.CodePrecondition)
			if now := only(); now.Category != "third" {
				t.Errorf("the tag is %+v", now)
			}
		},
		"tags/two people say something at once": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			// Each says another half of a tag at the same time; neither half gets lost.
			const rounds = 40
			other := t.open().For(junctor.DefaultTenant)
			for n := range rounds {
				name := fmt.Sprint("tool", n)
				var both together
				both.run(func() error {
					return mine.MergeTag(t.Context(), junctor.ToolTag{Server: "notes", Tool: name, Roles: []junctor.Role{"QA"}, By: "user:a", At: moment(n)})
				})
				both.run(func() error {
					return other.MergeTag(t.Context(), junctor.ToolTag{Server: "notes", Tool: name, Category: "Search", By: "user:b", At: moment(n)})
				})
				ok(t, both.wait())
			}
			list := must(mine.Tags(t.Context()))(t)
			if len(list) != rounds {
				t.Errorf("%d tags", len(list))
			}
			for _, one := range list {
				if len(one.Roles) != 1 || one.Category != "Search" {
					t.Errorf("a half is lost: %+v", one)
				}
			}
			fails(t, mine.MergeTag(t.Context(), junctor.ToolTag{Server: "never", Tool: "a", Category: "x"}), junctor.CodeNotFound)
		},
		"tags/follow renamed tools": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			for _, id := range []string{"notes", "other"} {
				_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer(id))))(t)
				for i, tool := range []string{"a", "b", "c"} {
					ok(t, mine.PutTag(t.Context(), junctor.ToolTag{Server: id, Tool: tool, Category: "of " + tool, By: "user:u", At: moment(i)}))
				}
			}
			// Names are exchanged, and one tool has no tag.
			ok(t, mine.RenameTags(t.Context(), "notes", map[string]string{"a": "b", "b": "a", "c": "d", "untagged": "e"}))
			ok(t, t.open().For("acme").RenameTags(t.Context(), "notes", map[string]string{"a": "x"}))
			list := must(mine.Tags(t.Context()))(t)
			got := make([]string, 0, len(list))
			for _, one := range list {
				got = append(got, one.Server+"/"+one.Tool+" "+one.Category+" "+one.By)
			}
			if diff := cmp.Diff([]string{
				"notes/a of b user:u", "notes/b of a user:u", "notes/d of c user:u", "other/a of a user:u", "other/b of b user:u", "other/c of c user:u",
			}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		},
		"tags/said while tools are renamed": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			// The other half is said under either name; it follows, or stays beside.
			const rounds = 20
			for n := range rounds {
				from, to := fmt.Sprint("from", n), fmt.Sprint("to", n)
				ok(t, mine.PutTag(t.Context(), junctor.ToolTag{Server: "notes", Tool: from, Roles: []junctor.Role{"QA"}, At: moment(n)}))
				other := t.open().For(junctor.DefaultTenant)
				var both together
				both.run(func() error { return mine.RenameTags(t.Context(), "notes", map[string]string{from: to}) })
				both.run(func() error {
					return other.MergeTag(t.Context(), junctor.ToolTag{Server: "notes", Tool: from, Category: "Search", At: moment(n + 1)})
				})
				ok(t, both.wait())
				said := false
				for _, one := range must(mine.Tags(t.Context()))(t) {
					said = said || (one.Tool == from || one.Tool == to) && one.Category == "Search"
				}
				if !said {
					t.Errorf("round %d: what was said is lost", n)
				}
			}
		},
		"changes/the newest are kept": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
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

// together runs functions at the same time.
type together struct {
	running sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

func (g *together) run(one func() error) {
	g.running.Go(func() {
		if err := one(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.failed = errors.Join(g.failed, err)
		}
	})
}

// wait waits for all, and gives their errors.
func (g *together) wait() error {
	g.running.Wait()
	return g.failed
}
