package storetest

import (
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

// agent is one with something in every member. Its servers are notes and files.
func agent(name string) junctor.Agent {
	return junctor.Agent{
		Name: name, Tenant: junctor.DefaultTenant, Title: "Tester", Role: "QA", Tier: junctor.TierPro, Owner: "user:u1", Disabled: true, Declared: "/etc/junctor.yaml",
		Tools:     []junctor.Grant{{Server: "files", Item: junctor.AnyItem}, {Server: "notes", Item: "é/search"}},
		Resources: []junctor.Grant{{Server: "notes", Item: "note://a/b?c"}},
		Prompts:   []junctor.Grant{{Server: "notes", Item: "hello"}},
		Limits:    &junctor.Limits{PerSecond: 2.5, PerDay: 10, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 1000},
	}
}

func agentTests() map[string]func(*trial) {
	ignoreTimes := cmpopts.IgnoreFields(junctor.Agent{}, "CreatedAt", "UpdatedAt")
	servers := func(t *trial) {
		st := t.open().For(junctor.DefaultTenant)
		_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
		_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("files"))))(t)
	}
	return map[string]func(*trial){
		"agents/what was added is there": func(t *trial) {
			servers(t)
			first := t.open()
			st := first.For(junctor.DefaultTenant)
			added := must(st.AddAgent(t.Context(), agent("qa-bot")))(t)
			if diff := cmp.Diff(agent("qa-bot"), added, ignoreTimes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			bare := must(st.AddAgent(t.Context(), junctor.Agent{Name: "bare", Role: "Dev"}))(t)
			if bare.Tools == nil || bare.Resources == nil || bare.Prompts == nil || bare.Limits != nil {
				t.Errorf("an agent without lists: %+v", bare)
			}
			_, err := st.AddAgent(t.Context(), agent("qa-bot"))
			fails(t, err, junctor.CodeConflict)
			_, err = first.For("nobody").AddAgent(t.Context(), agent("qa-bot"))
			fails(t, err, junctor.CodeNotFound)
			_, err = st.Agent(t.Context(), "never")
			fails(t, err, junctor.CodeNotFound)
			ok(t, first.Close())

			again := t.open().For(junctor.DefaultTenant)
			list := must(again.Agents(t.Context()))(t)
			if diff := cmp.Diff([]junctor.Agent{bare, added}, list); diff != "" {
				t.Errorf("after a restart:\n%s", diff)
			}
			if n := len(must(t.open().For("acme").Agents(t.Context()))(t)); n != 0 {
				t.Errorf("another tenant has %d agents", n)
			}
		},
		"agents/all of it or nothing": func(t *trial) {
			servers(t)
			st := t.open().For(junctor.DefaultTenant)
			bad := agent("bad")
			bad.Prompts = append(bad.Prompts, junctor.Grant{Server: "never", Item: "x"})
			_, err := st.AddAgent(t.Context(), bad)
			fails(t, err, junctor.CodeNotFound)
			if list := must(st.Agents(t.Context()))(t); len(list) != 0 {
				t.Errorf("half an agent was stored: %+v", list)
			}
			was := must(st.AddAgent(t.Context(), agent("good")))(t)
			bad = was
			bad.Role, bad.Tools = "Dev", []junctor.Grant{{Server: "notes", Item: "one"}, {Server: "never", Item: "x"}}
			_, err = st.UpdateAgent(t.Context(), bad)
			fails(t, err, junctor.CodeNotFound)
			if diff := cmp.Diff(was, must(st.Agent(t.Context(), "good"))(t)); diff != "" {
				t.Errorf("half a change was stored:\n%s", diff)
			}
		},
		"agents/of two changes one wins": func(t *trial) {
			servers(t)
			st := t.open().For(junctor.DefaultTenant)
			was := must(st.AddAgent(t.Context(), agent("qa-bot")))(t)
			one, two := was, was
			one.Title, one.Role, one.Disabled, one.Limits, one.Owner = "One", "Ops", false, nil, "user:u2"
			one.Tools, one.Prompts = []junctor.Grant{{Server: "notes", Item: junctor.AnyItem}, {Server: "notes", Item: junctor.AnyItem}}, []junctor.Grant{}
			two.Title = "Two"
			got := must(st.UpdateAgent(t.Context(), one))(t)
			one.Tools = one.Tools[:1]
			if diff := cmp.Diff(one, got, ignoreTimes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !got.UpdatedAt.After(was.UpdatedAt) || !got.CreatedAt.Equal(was.CreatedAt) {
				t.Errorf("times: %v, then %v", was.UpdatedAt, got.UpdatedAt)
			}
			_, err := st.UpdateAgent(t.Context(), two)
			fails(t, err, junctor.CodePrecondition)
			missing := was
			missing.Name = "never"
			_, err = st.UpdateAgent(t.Context(), missing)
			fails(t, err, junctor.CodeNotFound)
		},
		"agents/many at once": func(t *trial) {
			servers(t)
			a, b := t.open().For(junctor.DefaultTenant), t.open().For(junctor.DefaultTenant)
			start := must(a.AddAgent(t.Context(), agent("shared")))(t)
			var wg sync.WaitGroup
			for n := range 8 {
				wg.Go(func() {
					st := a
					if n%2 == 1 {
						st = b
					}
					if _, err := st.AddAgent(t.Context(), agent(fmt.Sprintf("a%d", n))); err != nil {
						t.Errorf("add: %v (%v)", err, junctor.AsError(err).Cause)
					}
					mine := start
					mine.Title = fmt.Sprint(n)
					if _, err := st.UpdateAgent(t.Context(), mine); err != nil && junctor.CodeOf(err) != junctor.CodePrecondition {
						t.Errorf("update: %v (%v)", err, junctor.AsError(err).Cause)
					}
				})
			}
			wg.Wait()
			list := must(a.Agents(t.Context()))(t)
			if len(list) != 9 {
				t.Errorf("%d agents", len(list))
			}
			for _, x := range list {
				if len(x.Tools) != 2 || len(x.Resources) != 1 || len(x.Prompts) != 1 {
					t.Errorf("%s has %+v", x.Name, x)
				}
			}
		},
		"agents/a grant goes with its server": func(t *trial) {
			servers(t)
			st := t.open().For(junctor.DefaultTenant)
			_ = must(st.AddAgent(t.Context(), agent("qa-bot")))(t)
			ok(t, st.RemoveServer(t.Context(), "notes"))
			got := must(st.Agent(t.Context(), "qa-bot"))(t)
			if len(got.Tools) != 1 || got.Tools[0].Server != "files" || len(got.Resources)+len(got.Prompts) != 0 {
				t.Errorf("after its server is gone: %+v", got)
			}
			_ = must(st.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			if again := must(st.Agent(t.Context(), "qa-bot"))(t); len(again.Tools) != 1 {
				t.Errorf("a new server of the old name brought grants back: %+v", again)
			}
		},
		"agents/a deleted one leaves no way in": func(t *trial) {
			servers(t)
			var m fixtures
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			for _, name := range []string{"gone", "other"} {
				_ = must(mine.AddAgent(t.Context(), agent(name)))(t)
				k := m.key("k-"+name, name)
				k.Agent = name
				ok(t, mine.CreateKey(t.Context(), k))
			}
			ok(t, mine.DeleteAgent(t.Context(), "gone", moment(9)))
			fails(t, mine.DeleteAgent(t.Context(), "gone", moment(9)), junctor.CodeNotFound)
			fails(t, st.For("acme").DeleteAgent(t.Context(), "other", moment(9)), junctor.CodeNotFound)
			for id, revoked := range map[string]bool{"k-gone": true, "k-other": false} {
				if k := must(mine.Key(t.Context(), id))(t); k.RevokedAt.IsZero() == revoked {
					t.Errorf("key %s: %+v", id, k)
				}
			}
			again := must(mine.AddAgent(t.Context(), junctor.Agent{Name: "gone", Role: "Dev"}))(t)
			if len(again.Tools)+len(again.Resources)+len(again.Prompts) != 0 {
				t.Errorf("a new agent of the old name has its lists: %+v", again)
			}
		},
	}
}
