package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func isolationTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"tenants/never see each other": func(t *trial) {
			var m fixtures
			st := t.open()
			round := 0
			rapid.Check(t, func(rt *rapid.T) {
				round++ // tenants of former rounds stay: more who must not be seen
				w := &isolationModel{trial: t, m: &m, st: st}
				for _, name := range []string{"a", "b", "c"} {
					id := junctor.TenantID(name + strconv.Itoa(round))
					ok(t, st.EnsureTenant(t.Context(), id, name))
					w.models = append(w.models, newModel(id))
				}
				rt.Repeat(w.actions())
				w.check(rt) // once, at the end: it reads far more than an action writes
			})
		},
	}
}

// model is what one tenant's part should hold, after what was done to it alone.
type model struct {
	id       junctor.TenantID
	keys     map[string]junctor.Key
	servers  map[string]junctor.ServerState
	removed  map[string]bool
	settings map[string]string
	sessions map[string]store.Session
	revoked  map[string]bool
	used     map[string]bool
	users    map[string]string
	agents   map[string]string // their tools
}

func newModel(id junctor.TenantID) *model {
	return &model{
		id: id, keys: map[string]junctor.Key{}, servers: map[string]junctor.ServerState{}, removed: map[string]bool{},
		settings: map[string]string{}, sessions: map[string]store.Session{}, revoked: map[string]bool{}, used: map[string]bool{},
		users: map[string]string{}, agents: map[string]string{},
	}
}

// isolationModel runs the same few ids against several tenants.
type isolationModel struct {
	*trial
	m      *fixtures
	st     *store.Store
	models []*model
}

// pick draws a tenant and an id that all tenants use.
func (w *isolationModel) pick(rt *rapid.T) (*model, *store.Tenant, string) {
	m := rapid.SampledFrom(w.models).Draw(rt, "tenant")
	return m, w.st.For(m.id), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "id")
}

// expect checks that an action succeeds exactly when the model says so.
func expect(rt *rapid.T, err error, fine bool, otherwise junctor.Code) {
	want := otherwise
	if fine {
		want = ""
	}
	if got := junctor.CodeOf(err); got != want {
		rt.Fatalf("got code %q (%v), want %q", got, err, want)
	}
}

func (w *isolationModel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create key": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			k := w.m.key(id, id)
			_, taken := m.keys[id]
			expect(rt, st.CreateKey(w.Context(), k), !taken, junctor.CodeConflict)
			if !taken {
				k.Tenant = m.id
				m.keys[id] = k
			}
		},
		"replace admin": func(rt *rapid.T) {
			m, st, _ := w.pick(rt)
			k, err := st.ReplaceAdmin(w.Context(), w.m.key("admin", ""))
			expect(rt, err, true, "")
			m.keys["admin"] = k
		},
		"revoke key": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			k, there := m.keys[id]
			at := moment(rapid.IntRange(0, 9).Draw(rt, "at"))
			expect(rt, st.RevokeKey(w.Context(), id, at), there, junctor.CodeNotFound)
			if there && k.RevokedAt.IsZero() {
				k.RevokedAt = at
				m.keys[id] = k
			}
		},
		"touch key": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			at := moment(rapid.IntRange(0, 9).Draw(rt, "at"))
			expect(rt, st.TouchKeys(w.Context(), map[string]time.Time{id: at}), true, "")
			if k, there := m.keys[id]; there && at.After(k.LastUsedAt) {
				k.LastUsedAt = at
				m.keys[id] = k
			}
		},
		"create user": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, taken := m.users[id]
			expect(rt, st.CreateUser(w.Context(), user(id, "user "+id)), !taken, junctor.CodeConflict)
			m.users[id] = "user " + id
		},
		"delete user": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, there := m.users[id]
			expect(rt, st.DeleteUser(w.Context(), id, moment(1)), there, junctor.CodeNotFound)
			delete(m.users, id)
		},
		"add agent": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, taken := m.agents[id]
			a := junctor.Agent{Name: id, Role: "QA"}
			for server := range m.servers {
				a.Tools = append(a.Tools, junctor.Grant{Server: server, Item: "of " + id})
			}
			stored, err := st.AddAgent(w.Context(), a)
			expect(rt, err, !taken, junctor.CodeConflict)
			if !taken {
				m.agents[id] = fmt.Sprint(stored.Tools)
			}
		},
		"delete agent": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, there := m.agents[id]
			expect(rt, st.DeleteAgent(w.Context(), id, moment(1)), there, junctor.CodeNotFound)
			delete(m.agents, id)
		},
		"ensure server": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			expect(rt, st.EnsureBuiltin(w.Context(), id, id), true, "")
			if _, there := m.servers[id]; !there && !m.removed[id] {
				m.servers[id] = junctor.StateActive
			}
		},
		"set server state": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, there := m.servers[id]
			state := rapid.SampledFrom([]junctor.ServerState{junctor.StateActive, junctor.StateInactive, junctor.StateError}).Draw(rt, "state")
			expect(rt, st.SetServerState(w.Context(), id, state, "why"), there, junctor.CodeNotFound)
			if there {
				m.servers[id] = state
			}
		},
		"remove server": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			_, there := m.servers[id]
			expect(rt, st.RemoveServer(w.Context(), id), there, junctor.CodeNotFound)
			if there {
				delete(m.servers, id)
				m.removed[id] = true
				for name := range m.agents {
					m.agents[name] = fmt.Sprint(must(st.Agent(w.Context(), name))(w).Tools)
					if strings.Contains(m.agents[name], id+"/") {
						rt.Fatalf("%s keeps a grant of a server that is gone", name)
					}
				}
			}
		},
		"put setting": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			value := strconv.Itoa(rapid.Int().Draw(rt, "value"))
			expect(rt, st.PutSetting(w.Context(), id, json.RawMessage(value)), true, "")
			m.settings[id] = value
		},
		"save session": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			ses := session(id, rapid.SampledFrom([]string{"alice", "bob"}).Draw(rt, "subject"), rapid.IntRange(1, 9).Draw(rt, "expires"))
			former, there := m.sessions[id]
			fine := !m.revoked[id] && (!there || former.Subject == ses.Subject)
			expect(rt, st.SaveSession(w.Context(), ses), fine, junctor.CodeNotFound)
			if fine {
				m.sessions[id] = ses
			}
		},
		"revoke session": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			expect(rt, st.RevokeSession(w.Context(), id, moment(9)), true, "")
			delete(m.sessions, id)
			m.revoked[id] = true
		},
		"use state": func(rt *rapid.T) {
			m, st, id := w.pick(rt)
			first, err := st.UseState(w.Context(), id, moment(9))
			expect(rt, err, true, "")
			if first == m.used[id] {
				rt.Fatalf("%s: first use of %q is %v", m.id, id, first)
			}
			m.used[id] = true
		},
	}
}

// check compares all that each tenant can see with its model.
func (w *isolationModel) check(rt *rapid.T) {
	for _, m := range w.models {
		st := w.st.For(m.id)
		keys := map[string]junctor.Key{}
		for _, k := range must(st.Keys(w.Context()))(w) {
			keys[k.ID] = k
			if one := must(st.Key(w.Context(), k.ID))(w); !cmp.Equal(one, k) {
				rt.Fatalf("%s: Key gives %+v, Keys %+v", m.id, one, k)
			}
		}
		same(rt, m, "keys", m.keys, keys)

		servers := map[string]junctor.ServerState{}
		for _, s := range must(st.Servers(w.Context()))(w) {
			servers[s.ID] = s.State
			if s.Tenant != m.id {
				rt.Fatalf("%s sees a server of %s", m.id, s.Tenant)
			}
		}
		same(rt, m, "servers", m.servers, servers)

		users := map[string]string{}
		for _, u := range must(st.Users(w.Context()))(w) {
			users[u.ID] = u.Name
			if u.Tenant != m.id {
				rt.Fatalf("%s sees a user of %s", m.id, u.Tenant)
			}
		}
		same(rt, m, "users", m.users, users)

		agents := map[string]string{}
		for _, a := range must(st.Agents(w.Context()))(w) {
			agents[a.Name] = fmt.Sprint(a.Tools)
			if a.Tenant != m.id {
				rt.Fatalf("%s sees an agent of %s", m.id, a.Tenant)
			}
		}
		same(rt, m, "agents", m.agents, agents)

		settings := map[string]string{}
		for _, s := range must(st.Settings(w.Context()))(w) {
			settings[s.Key] = string(s.Value)
		}
		same(rt, m, "settings", m.settings, settings)

		sessions, revoked := map[string]store.Session{}, map[string]bool{}
		for _, id := range []string{"x", "y", "z"} {
			if ses, err := st.Session(w.Context(), id); err == nil {
				sessions[id] = ses
			}
			if must(st.Revoked(w.Context(), id))(w) {
				revoked[id] = true
			}
		}
		same(rt, m, "sessions", m.sessions, sessions)
		same(rt, m, "revocations", m.revoked, revoked)
	}
	w.checkAll(rt)
}

// checkAll looks at the one list that crosses the wall.
func (w *isolationModel) checkAll(rt *rapid.T) {
	want, got := map[string]string{}, map[string]string{}
	for _, m := range w.models {
		for id, k := range m.keys {
			want[fmt.Sprint(m.id, "/", id)] = k.Prefix
		}
	}
	mine := slices.Collect(maps.Values(want))
	for _, k := range must(w.st.Keys(w.Context()))(w) {
		if slices.Contains(mine, k.Prefix) {
			got[fmt.Sprint(k.Tenant, "/", k.ID)] = k.Prefix
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("keys of all tenants (-want +got):\n%s", diff)
	}
}

func same[T any](rt *rapid.T, m *model, what string, want, got map[string]T) {
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("%s of %s (-want +got):\n%s", what, m.id, diff)
	}
}
