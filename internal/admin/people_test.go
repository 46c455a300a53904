package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// people is two users and their logins in memory; what identity does with real
// ones is shown by its own tests.
type people struct {
	mu        sync.Mutex
	users     []junctor.User
	logins    []junctor.Login
	consents  []junctor.Consent
	passwords map[string]string // by the user's id
	kept      string            // the login that the last SetPassword kept
	tenants   []junctor.Tenant
}

func newPeople() *people {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	user := func(id, name string, role junctor.UserRole) junctor.User {
		return junctor.User{ID: id, Name: name, Role: role, Sources: junctor.SourcesBoth, Tier: junctor.TierFree, CreatedAt: at, UpdatedAt: at}
	}
	return &people{
		users:     []junctor.User{user("u1", "ann", junctor.UserAdmin), user("u2", "dev", junctor.UserDeveloper)},
		logins:    []junctor.Login{{ID: "l1", User: "u1", How: "link", CreatedAt: at, ExpiresAt: at}, {ID: "l2", User: "u2", How: "password", CreatedAt: at, ExpiresAt: at}},
		passwords: map[string]string{},
		tenants:   []junctor.Tenant{{ID: "default", Name: "Default", CreatedAt: at}},
	}
}

func (p *people) find(who string) (int, error) {
	i := slices.IndexFunc(p.users, func(u junctor.User) bool { return u.ID == who || u.Name == who })
	if i < 0 {
		return 0, junctor.Errorf(junctor.CodeNotFound, "no user %s", who)
	}
	return i, nil
}

func (p *people) CreateUser(_ context.Context, _ junctor.TenantID, n identity.NewUser) (junctor.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := junctor.User{ID: "u9", Name: n.Name, Role: n.Role, Sources: junctor.SourcesBoth}
	p.users = append(p.users, u)
	return u, nil
}

func (p *people) ListUsers(context.Context, junctor.TenantID) ([]junctor.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.users), nil
}

func (p *people) User(_ context.Context, _ junctor.TenantID, who string) (junctor.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.find(who)
	if err != nil {
		return junctor.User{}, err
	}
	u := p.users[i]
	u.Password = p.passwords[u.ID]
	return u, nil
}

func (p *people) ChangeUser(_ context.Context, _ junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.find(id)
	if err == nil {
		err = change(&p.users[i])
	}
	return p.users[i], err
}

func (p *people) RemoveUser(_ context.Context, _ *junctor.Principal, id string) (identity.RemovedUser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.find(id)
	p.users = slices.Delete(p.users, i, i+1)
	return identity.RemovedUser{User: id, RemovedServers: []string{}, Servers: []string{"notes"}, Agents: []string{}}, err
}

func (p *people) SetPassword(_ context.Context, _ junctor.TenantID, id, password, except string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passwords[id], p.kept = password, except
	return nil
}

func (p *people) CheckPassword(_ context.Context, _ junctor.TenantID, id, password string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passwords[id] == password, nil
}

func (p *people) CreateLink(_ context.Context, _ junctor.TenantID, id string) (string, time.Time, error) {
	return "http://console/login?token=" + id, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), nil
}

func (p *people) ListLogins(_ context.Context, _ junctor.TenantID, user string) ([]junctor.Login, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.logins), func(l junctor.Login) bool { return user != "" && l.User != user }), nil
}

func (p *people) RevokeLogin(_ context.Context, _ junctor.TenantID, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logins = slices.DeleteFunc(p.logins, func(l junctor.Login) bool { return l.ID == id })
	return nil
}

func (p *people) ListConsents(_ context.Context, _ junctor.TenantID, user string) ([]junctor.Consent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.consents), func(c junctor.Consent) bool { return user != "" && c.User != user }), nil
}

func (p *people) RevokeConsent(_ context.Context, _ junctor.TenantID, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.consents = slices.DeleteFunc(p.consents, func(c junctor.Consent) bool { return c.ID == id })
	return nil
}

func (p *people) ListTenants(context.Context) ([]junctor.Tenant, error) { return p.tenants, nil }

func (p *people) CreateTenant(_ context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error) {
	return junctor.Tenant{ID: id, Name: name}, junctor.Key{ID: "k1", Name: "admin"}, "jn_tenant", nil
}

func (p *people) ReplaceAdminKey(_ context.Context, id junctor.TenantID) (junctor.Key, string, error) {
	return junctor.Key{ID: "k1", Name: "admin"}, "jn_again_" + string(id), nil
}

const (
	asAdmin     = "admin"
	asAnn       = "user=u1,admin"
	asDev       = "user=u2,tools:read,tools:call,keys:write,servers:write"
	asViewer    = "user=u2,tools:read,audit:read"
	asService   = "keys:write,tools:call"
	asTheirs    = "tenant=acme,admin"
	asNarrow    = "user=u1,key=k1,tools:read" // a key of an admin
	asDevKey    = "user=u2,key=k1,tools:read,tools:call,bridge:call,events:send,servers:write,agents:write,keys:write,audit:read"
	asShort     = "user=u1,key=k1,admin,expires=2030-01-02T03:04:05Z"
	newCallKey  = `{"name":"a","scopes":["tools:call"]`
	newPassWord = `{"password":"` + canary + `"`
)

func TestPeopleRoutes(t *testing.T) {
	t.Parallel()
	const ann = `{"id":"u1","name":"ann","role":"admin","sources":"both","tier":"free","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}`
	for _, tt := range []struct {
		name, as, method, path, body string
		status                       int
		says                         string
	}{
		{"users", asAdmin, "GET", "/users", "", 200, ann},
		{"user by name", asAdmin, "GET", "/users/ann", "", 200, ann},
		{"no user", asAdmin, "GET", "/users/nobody", "", 404, "nobody"},
		{"users are for admins", asDev, "GET", "/users", "", 403, "admin"},
		{"add", asAdmin, "POST", "/users", `{"name":"zoë","role":"developer"}`, 201, `"role":"developer"`},
		{"add a viewer", asAdmin, "POST", "/users", `{"name":"zoë"}`, 201, `"role":"viewer"`},
		{"unknown role", asAdmin, "POST", "/users", `{"name":"zoë","role":"root"}`, 422, "developer"},
		{"change", asAdmin, "PATCH", "/users/dev", `{"role":"viewer","disabled":true,"tier":"pro","sources":"auto-generated","name":"d"}`, 200, `"name":"d","role":"viewer","sources":"auto-generated","tier":"pro","disabled":true`},
		{"change nothing", asAdmin, "PATCH", "/users/dev", `{}`, 422, "empty"},
		{"not oneself", asDev, "PATCH", "/users/dev", `{"role":"admin"}`, 403, "admin"},
		{"delete", asAdmin, "DELETE", "/users/dev", "", 200, `{"user":"u2","removed_servers":[],"servers":["notes"],"agents":[]}`},
		{"password", asAdmin, "PUT", "/users/dev/password", newPassWord + `}`, 204, ""},
		{"link", asAdmin, "POST", "/users/dev/link", "", 200, `{"url":"http://console/login?token=u2","expires_at":"2026-01-02T03:04:05Z"}`},
		{"link is for admins", asDev, "POST", "/users/dev/link", "", 403, "admin"},
		{"all logins", asAdmin, "GET", "/logins", "", 200, `"id":"l2"`},
		{"one's own logins", asViewer, "GET", "/logins", "", 200, `{"items":[{"id":"l2","user":"u2"`},
		{"not another's", asViewer, "GET", "/logins?user=ann", "", 200, `{"items":[],"total":0}`},
		{"a service has none", asService, "GET", "/logins", "", 200, `{"items":[],"total":0}`},
		{"end one's own", asViewer, "DELETE", "/logins/l2", "", 204, ""},
		{"not another's, which is not there", asViewer, "DELETE", "/logins/l1", "", 404, "login not found"},
		{"an admin ends any", asAdmin, "DELETE", "/logins/l2", "", 204, ""},
		{"tenants", asAdmin, "GET", "/tenants", "", 200, `"id":"default"`},
		{"tenant", asAdmin, "POST", "/tenants", `{"id":"acme","name":"Acme"}`, 201, `"key":"jn_tenant"`},
		{"tenant key", asAdmin, "POST", "/tenants/acme/key", "", 200, `"key":"jn_again_acme"`},
		{"not for another tenant's admin", asTheirs, "GET", "/tenants", "", 403, "default"},
		{"nor the settings", asTheirs, "GET", "/settings", "", 403, "default"},
		{"nor the sealing key", asTheirs, "POST", "/secrets/rotate", "", 403, "default"},
		{"me, a user", asAnn, "GET", "/me", "", 200, `"user":"u1","login":"l1","person":` + ann},
		{"me, a service", asService, "GET", "/me", "", 200, `"issuer":"key","subject":"k1","name":"test","scopes":["keys:write","tools:call"],"runs_commands":false}`},
		{"sources", asViewer, "PUT", "/me/sources", `{"sources":"bring-your-own"}`, 200, `"sources":"bring-your-own"`},
		{"unknown sources", asViewer, "PUT", "/me/sources", `{"sources":"mine"}`, 422, "bring-your-own"},
		{"sources of a service", "tools:read", "PUT", "/me/sources", `{"sources":"both"}`, 403, "credential of a user"},
		{"sources with another scope", "user=u1,key=k1,audit:read", "PUT", "/me/sources", `{"sources":"both"}`, 403, "tools:read"},
		{"logins, not by a narrow key", asNarrow, "GET", "/logins", "", 403, "admin"},
		{"nor their end", asNarrow, "DELETE", "/logins/l1", "", 403, "admin"},
		{"nor consents", asNarrow, "GET", "/consents", "", 403, "admin"},
		{"nor their end", asNarrow, "DELETE", "/consents/c1", "", 403, "admin"},
		{"logins by a key with all of its role", asDevKey, "GET", "/logins", "", 200, `{"items":[{"id":"l2","user":"u2"`},
		{"an agent has no turn with a narrow key", asNarrow, "POST", "/agents/qa/runs", `{"message":"x"}`, 403, "tools:call"},
		{"a room is not read with a narrow key", asNarrow, "GET", "/rooms/r1/messages", "", 403, "audit:read"},
		{"no password by a key", asDevKey, "PUT", "/me/password", newPassWord + `}`, 403, "browser"},
		{"not even an admin's", "user=u1,key=k1,admin", "PUT", "/me/password", newPassWord + `}`, 403, "browser"},
		{"no password by what expires", asShort, "PUT", "/users/dev/password", newPassWord + `}`, 403, "outlive"},
		{"no link by what expires", asShort, "POST", "/users/dev/link", "", 403, "outlive"},
		{"no tenant by what expires", asShort, "POST", "/tenants", `{"id":"acme"}`, 403, "outlive"},
		{"no tenant key by what expires", asShort, "POST", "/tenants/acme/key", "", 403, "outlive"},
		{"a key by what expires", asShort, "POST", "/keys", newCallKey + `}`, 201, `"expires_at":"2030-01-02T03:04:05Z"`},
		{"a shorter key by what expires", asShort, "POST", "/keys", newCallKey + `,"expires_at":"2029-01-02T03:04:05Z"}`, 201, `"expires_at":"2029-01-02T03:04:05Z"`},
		{"no longer key by what expires", asShort, "POST", "/keys", newCallKey + `,"expires_at":"2031-01-02T03:04:05Z"}`, 403, "2030-01-02"},
		{"my first password", asDev, "PUT", "/me/password", newPassWord + `}`, 204, ""},
		{"password of a service", asService, "PUT", "/me/password", newPassWord + `}`, 403, "browser login"},
		{"key for oneself", asDev, "POST", "/keys", newCallKey + `}`, 201, `"user":"u2"`},
		{"key for oneself by name", asDev, "POST", "/keys", newCallKey + `,"user":"dev"}`, 201, `"user":"u2"`},
		{"key for another", asDev, "POST", "/keys", newCallKey + `,"user":"ann"}`, 403, "another user"},
		{"key for nobody says as much", asDev, "POST", "/keys", newCallKey + `,"user":"nobody"}`, 403, "another user"},
		{"key for one's agent", asDev, "POST", "/keys", newCallKey + `,"agent":"qa"}`, 201, `"agent":"qa"`},
		{"key for another's agent", asService, "POST", "/keys", newCallKey + `,"agent":"qa"}`, 403, "only the owner of the agent"},
		{"key for any agent", asAdmin, "POST", "/keys", newCallKey + `,"agent":"qa"}`, 201, `"agent":"qa"`},
		{"key for any user", asAdmin, "POST", "/keys", newCallKey + `,"user":"dev"}`, 201, `"user":"u2"`},
		{"key for a service", asAnn, "POST", "/keys", newCallKey + `}`, 201, `"prefix"`},
		{"no key to rotate", asAdmin, "POST", "/keys/nope/rotate", `{}`, 404, "key not found"},
		{"grace too long", asAdmin, "POST", "/keys/nope/rotate", `{"grace_seconds":604801}`, 422, "604800"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			rec := ask(w.handler(t), tt.as, tt.method, tt.path, tt.body)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.says) {
				t.Errorf("%d %s, want %d with %s", rec.Code, rec.Body, tt.status, tt.says)
			}
			if strings.Contains(rec.Body.String(), canary) {
				t.Errorf("answered: %s", rec.Body)
			}
		})
	}
}

// Who took a session over cannot take the password over too.
func TestMyPassword(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	for _, step := range []struct {
		body   string
		status int
	}{
		{`{"password":"the first password"}`, 204},
		{`{"password":"another password"}`, 403},
		{`{"current":"wrong","password":"another password"}`, 403},
		{`{"current":"the first password","password":"another password"}`, 204},
		{`{"current":"another password","password":"the last password"}`, 429},
	} {
		if rec := ask(h, asDev, "PUT", "/me/password", step.body); rec.Code != step.status || strings.Contains(rec.Body.String(), "first") {
			t.Errorf("%s: %d %s", step.body, rec.Code, rec.Body)
		}
	}
	if w.people.passwords["u2"] != "another password" || w.people.kept != "l1" {
		t.Errorf("%v, kept %q", w.people.passwords, w.people.kept)
	}
}

// Nobody gets a token by a rotation that works for longer than their own, or that
// has a scope which is merely suspended.
func TestRotateKeyGivesNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	end := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	w.keys = []junctor.Key{
		{ID: "lasting", Tenant: "default", User: "u1"},
		{ID: "later", Tenant: "default", User: "u1", ExpiresAt: end.Add(time.Second)},
		{ID: "same", Tenant: "default", User: "u1", ExpiresAt: end},
		{ID: "service", Tenant: "default", Scopes: []junctor.Scope{junctor.ScopeToolsCall}},
		{ID: "suspended", Tenant: "default", User: "u2", Scopes: []junctor.Scope{junctor.ScopeAdmin}},
	}
	for _, tt := range []struct {
		as, key string
		want    int
	}{
		{asShort, "lasting", 403},
		{asShort, "later", 403},
		{asShort, "same", 200},
		{asService, "service", 403},
		{asService + ",key=service", "service", 200},
		{asAdmin, "service", 200},
		{asDevKey, "suspended", 403},
		{asDev, "suspended", 200}, // a person, by a browser
		{strings.Replace(asDevKey, "key=k1", "key=suspended", 1), "suspended", 200},
	} {
		if rec := ask(h, tt.as, "POST", "/keys/"+tt.key+"/rotate", `{}`); rec.Code != tt.want {
			t.Errorf("%s rotates %s: %d %s", tt.as, tt.key, rec.Code, rec.Body)
		}
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	ask(h, asDev, "POST", "/keys", newCallKey+`}`)
	w.keys = append(w.keys, junctor.Key{ID: "k7", Tenant: "default", Name: "not yours"})
	rec := ask(h, asDev, "POST", "/keys/k9/rotate", `{"grace_seconds":600}`)
	var got CreatedKey
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || got.Token != "jn_abc_rotated" || !got.FormerUntil.Equal(time.Unix(600, 0)) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, method := range []string{"POST /keys/k7/rotate", "DELETE /keys/k7"} {
		verb, path, _ := strings.Cut(method, " ")
		body := map[string]string{"POST": "{}"}[verb]
		if rec := ask(h, asDev, verb, path, body); rec.Code != 404 {
			t.Errorf("%s: %d %s", method, rec.Code, rec.Body)
		}
	}
	var keys page[junctor.Key]
	if err := json.Unmarshal(ask(h, asDev, "GET", "/keys", "").Body.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(1, len(keys.Items)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
