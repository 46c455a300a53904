package routes

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// narrow says for every row of the matrix which scopes open it when a key of an
// admin carries that scope alone. The admin owns everything that the routes are
// about, so nothing but the scope can refuse.
//
//   - any: the route needs no scope; it must neither change anything nor show a payload
//   - -: no single scope below admin opens it, or only a browser's login does
//
// With every other scope the key must be refused, or get an empty list, and
// nothing of the instance may be different afterwards.
const narrow = `
GET /healthz                                                   any
GET /readyz                                                    any
GET /                                                          any
GET /start                                                     any
GET /start/                                                    any
GET /attention                                                 any
GET /attention/                                                any
GET /servers                                                   any
GET /servers/                                                  any
GET /tools                                                     any
GET /tools/                                                    any
GET /playground                                                any
GET /playground/                                               any
GET /agents                                                    any
GET /agents/                                                   any
GET /calls                                                     any
GET /calls/                                                    any
GET /usage                                                     any
GET /usage/                                                    any
GET /apps                                                      any
GET /apps/                                                     any
GET /gallery                                                   any
GET /gallery/                                                  any
GET /audit                                                     any
GET /audit/                                                    any
GET /models                                                    any
GET /models/                                                   any
GET /events                                                    any
GET /events/                                                   any
GET /triggers                                                  any
GET /policies                                                  any
GET /triggers/                                                 any
GET /policies/                                                 any
GET /sources                                                   any
GET /sources/                                                  any
GET /deliveries                                                any
GET /deliveries/                                               any
GET /dead                                                      any
GET /dead/                                                     any
GET /endpoints                                                 any
GET /endpoints/                                                any
GET /chains                                                    any
GET /chains/                                                   any
GET /chain-agents                                              any
GET /chain-agents/                                             any
GET /users                                                     any
GET /users/                                                    any
GET /keys                                                      any
GET /keys/                                                     any
GET /settings                                                  any
GET /chat                                                      any
GET /chat/                                                     any
GET /settings/                                                 any
GET /assets/                                                   any
GET /stdio                                                     any
GET /docs                                                      any
GET /docs/                                                     any
GET /api/v1/reference                                          any
GET /metrics                                                   -
GET /debug/pprof/                                              -
GET /debug/pprof/profile?seconds=1                             -
GET /debug/pprof/trace?seconds=0.01                            -
GET /login                                                     any
POST /login                                                    any
POST /logout                                                   any
GET /login/oidc                                                any
GET /login/callback?state=x&code=x                             any
GET /connect/{guarded}                                         any
POST /connect/{guarded}                                        any
GET /connected?state=x&code=x                                  any
GET /oauth/client.json                                         any
GET /oauth/authorize                                           any
POST /oauth/authorize                                          any
GET /.well-known/oauth-authorization-server                    any
POST /oauth/token                                              any
POST /oauth/revoke                                             any
POST /oauth/register                                           any

GET /.well-known/oauth-protected-resource                      any
GET /.well-known/oauth-protected-resource/mcp                  any
GET /.well-known/oauth-protected-resource/mcp/s/{server}       any
GET /.well-known/oauth-protected-resource/mcp/a/{agent}        any

POST /mcp (list)                                               tools:read tools:call
POST /mcp (call)                                               tools:call
POST /mcp (hello)                                              any
GET /mcp                                                       any
DELETE /mcp                                                    any
PUT /mcp                                                       any
POST /mcp/s/{server} (list)                                    tools:read tools:call
POST /mcp/s/{server} (call)                                    tools:call
POST /mcp/a/{agent} (list)                                     tools:read tools:call
POST /mcp/a/{agent} (call)                                     tools:call
POST /mcp/request (list)                                       tools:read tools:call
POST /mcp/request (call)                                       tools:call
POST /mcp/a/{agent}/request (call)                             tools:call
GET /mcp/tools                                                 tools:read tools:call
GET /mcp/a/{agent}/tools                                       tools:read tools:call
POST /mcp/call                                                 tools:call
POST /mcp/call (endpoint)                                      bridge:call
POST /mcp/a/{agent}/call                                       tools:call
POST /a/{agent}/v1/chat/completions                            tools:call
GET /a/{agent}/v1/models                                       tools:call
POST /mcp/a/{agent}/call (endpoint)                            -
GET /a2a/{published}/.well-known/agent-card.json               any
GET /.well-known/agent-card.json                               any
GET /a2ui/catalogs/{document}                                  any
POST /a2a/{published}                                          tools:call
POST /a2a/{published}/                                         tools:call
GET /a2a/{published}/rest/{path...}                            tools:call
GET /sse                                                       any
POST /messages                                                 any

GET /api/v1/servers                                            tools:read
GET /api/v1/server-health                                        tools:read
POST /api/v1/servers                                           servers:write
POST /api/v1/servers/probe                                     servers:write
POST /api/v1/servers/probe/steps                               servers:write
POST /api/v1/servers/preview                                   servers:write
POST /api/v1/servers/preview/steps                             servers:write
POST /api/v1/servers/preview/document                          servers:write
GET /api/v1/servers/{server}/document                          servers:write
GET /api/v1/servers/{server}/validate                          servers:write
GET /api/v1/servers/{server}/suggestions                       servers:write
POST /api/v1/servers/{server}/suggestions                      servers:write
POST /api/v1/servers/{server}/suggestions/steps                servers:write
POST /api/v1/servers/{server}/suggestions/approve              servers:write
POST /api/v1/servers/{server}/suggestions/reject               servers:write
POST /api/v1/servers/{server}/import                           servers:write
GET /api/v1/servers/{server}                                   tools:read
GET /api/v1/servers/{server}/offer                             tools:read
POST /api/v1/servers/{server}/test                             servers:write
POST /api/v1/servers/{server}/test/steps                       servers:write
PATCH /api/v1/servers/{server}                                 servers:write
POST /api/v1/servers/{server}/enable                           servers:write
POST /api/v1/servers/{server}/disable                          servers:write
DELETE /api/v1/servers/{server}                                servers:write
POST /api/v1/servers/{guarded}/login                           -
POST /api/v1/servers/{guarded}/login/finish                    tools:call
GET /api/v1/servers/{guarded}/login                            -
DELETE /api/v1/servers/{guarded}/login                         -
GET /api/v1/servers/{guarded}/traces                           tools:call

GET /api/v1/tools                                              tools:read tools:call
GET /api/v1/tools/{tool}                                       tools:read tools:call
POST /api/v1/tools/{tool}/call                                 tools:call
POST /api/v1/run                                               tools:call
GET /api/v1/apps                                               tools:read
GET /api/v1/apps/{tool}                                        tools:read tools:call
PUT /api/v1/apps/{tool}/approval                               servers:write
DELETE /api/v1/apps/{tool}/approval                            servers:write
POST /api/v1/views                                             tools:read tools:call
GET /api/v1/views                                              any
GET /api/v1/views/{view}                                       any
DELETE /api/v1/views/{view}                                    any
POST /api/v1/views/{view}/rpc                                  any
POST /api/v1/views/{view}/log                                  any
POST /api/v1/views/{view}/answers/{ask}                        any
GET /api/v1/views/{view}/tools                                 any
POST /api/v1/views/{view}/tools/{ask}/call                     any
GET /api/v1/views/mail                                         any
GET /api/v1/views/{view}/log                                   any
PUT /api/v1/tools/{tool}/tag                                   servers:write
DELETE /api/v1/tools/{tool}/tag                                servers:write
GET /api/v1/tools/changes                                      tools:read

GET /api/v1/roles                                              tools:read
PUT /api/v1/roles/{role}                                       -
DELETE /api/v1/roles/{role}                                    -

GET /api/v1/agents                                             tools:read
POST /api/v1/agents                                            -
GET /api/v1/agents/{agent}                                     tools:read
PATCH /api/v1/agents/{agent}                                   -
DELETE /api/v1/agents/{agent}                                  agents:write
GET /api/v1/agents/{agent}/tools                               tools:read
POST /api/v1/agents/{agent}/runs                               tools:call

GET /api/v1/models                                             agents:write
POST /api/v1/models                                            -
GET /api/v1/models/{model}                                     agents:write
PATCH /api/v1/models/{model}                                   -
DELETE /api/v1/models/{model}                                  -
POST /api/v1/models/{model}/test                               -
GET /api/v1/component-catalogs                                 tools:read
GET /api/v1/component-catalogs/{catalog}                     tools:read
PUT /api/v1/component-catalogs/{catalog}                     -
DELETE /api/v1/component-catalogs/{catalog}                  -

GET /api/v1/keys                                               keys:write
POST /api/v1/keys                                              -
POST /api/v1/keys (stronger)                                   -
POST /api/v1/keys/{key}/rotate                                 -
DELETE /api/v1/keys/{key}                                      -

GET /api/v1/users                                              -
POST /api/v1/users                                             -
GET /api/v1/users/{user}                                       -
PATCH /api/v1/users/{user}                                     -
DELETE /api/v1/users/{user}                                    -
PUT /api/v1/users/{user}/password                              -
POST /api/v1/users/{user}/link                                 -

GET /api/v1/logins                                             -
DELETE /api/v1/logins/{login}                                  -

GET /api/v1/consents                                           -
DELETE /api/v1/consents/{consent}                              -

GET /api/v1/tenants                                            -
POST /api/v1/tenants                                           -
POST /api/v1/tenants/{other}/key                               -

GET /api/v1/whoami                                             any

GET /api/v1/me                                                 any
GET /api/v1/me/credentials                                     tools:call
GET /api/v1/servers/{personal}/credentials/me                  tools:call
PUT /api/v1/servers/{personal}/credentials/me                  tools:call
DELETE /api/v1/servers/{personal}/credentials/me               tools:call
PUT /api/v1/me/sources                                         tools:read
PUT /api/v1/me/password                                        -

GET /api/v1/chains                                             audit:read
GET /api/v1/chains/events                                      audit:read
GET /api/v1/chains/agents                                      audit:read
POST /api/v1/chains/agents/find                                servers:write
POST /api/v1/chains/{other}/rewind                             -

GET /api/v1/calls                                              audit:read
GET /api/v1/calls/tail                                         audit:read
GET /api/v1/calls/history                                      audit:read
GET /api/v1/calls/{call}                                       audit:read
GET /api/v1/calls/export                                       audit:read

GET /api/v1/metrics?by=server                                  audit:read
GET /api/v1/metrics/deliveries                                 audit:read
GET /api/v1/metrics/servers                                    audit:read
GET /api/v1/attention                                          audit:read
GET /api/v1/usage                                              audit:read

POST /hooks/{source}                                           any
POST /hooks/{other}/{source}                                   any

GET /api/v1/events                                             audit:read
POST /api/v1/events                                            events:send
GET /api/v1/events/{event}                                     audit:read
POST /api/v1/events/{event}/replay                             -
GET /api/v1/triggers                                           audit:read
GET /api/v1/triggers/ready                                     audit:read
POST /api/v1/triggers                                          -
POST /api/v1/triggers/test                                     -
GET /api/v1/triggers/{trigger}                                 audit:read
PATCH /api/v1/triggers/{trigger}                               -
DELETE /api/v1/triggers/{trigger}                              -
GET /api/v1/sources                                            audit:read
POST /api/v1/sources                                           -
POST /api/v1/sources (redis)                                   -
GET /api/v1/sources/{source}                                   audit:read
PATCH /api/v1/sources/{source}                                 -
DELETE /api/v1/sources/{source}                                -
GET /api/v1/schedules                                          audit:read
GET /api/v1/schedules/times?cron=@daily                        audit:read
PUT /api/v1/schedules/{schedule}                               -
DELETE /api/v1/schedules/{schedule}                            -

GET /api/v1/rooms                                              tools:call audit:read
POST /api/v1/rooms                                             tools:call
GET /api/v1/rooms/{room}                                       tools:call audit:read
PATCH /api/v1/rooms/{room}                                     tools:call
DELETE /api/v1/rooms/{room}                                    tools:call
GET /api/v1/rooms/{room}/messages                              tools:call audit:read
GET /api/v1/rooms/{room}/search?q=x                            tools:call audit:read
GET /api/v1/rooms/{room}/export                                tools:call audit:read
GET /api/v1/rooms/{room}/tools                                 tools:call audit:read
GET /api/v1/rooms/{room}/approvals                             tools:call audit:read
GET /api/v1/rooms/{room}/stream                                tools:call audit:read
POST /api/v1/rooms/{room}/runs                                 tools:call
POST /api/v1/rooms/{room}/runs/{run}/stop                      tools:call
POST /api/v1/rooms/{room}/messages/{message}/report            tools:call

GET /api/v1/limits                                             any
PATCH /api/v1/limits                                           -

GET /api/v1/policies                                           audit:read policy:write
PUT /api/v1/policies                                           policy:write
GET /api/v1/policies/{policy}                                  audit:read policy:write
PUT /api/v1/policies/{policy}                                  policy:write
DELETE /api/v1/policies/{policy}                               policy:write
POST /api/v1/policies/check                                    policy:write
POST /api/v1/policies/simulate                                 policy:write
POST /api/v1/policies/test                                     policy:write
GET /api/v1/policy-templates                                   audit:read policy:write
GET /api/v1/calls/{call}/policies                              -

GET /api/v1/secrets                                            servers:write
GET /api/v1/secrets/{server}/{secret}                          servers:write
PUT /api/v1/secrets/{server}/{secret}                          servers:write
DELETE /api/v1/secrets/{server}/{secret}                       servers:write
POST /api/v1/secrets/rotate                                    -

GET /api/v1/cluster                                            -
GET /api/v1/settings                                           -
GET /api/v1/settings/file                                      -

GET /api/v1/version                                            any

GET /api/v1/openapi.json                                       any

POST /api/v1/apply                                             servers:write
GET /api/v1/export                                             tools:read

GET /api/v1/packs                                              tools:read
POST /api/v1/packs/plan                                        servers:write
POST /api/v1/packs/add                                         servers:write
POST /api/v1/packs/add (command)                               -
GET /api/v1/packs/export?server={server}                       tools:read

POST /api/v1/audit/verify                                      -
GET /api/v1/audit/export                                       -
GET /api/v1/changes                                            -
GET /api/v1/changes/{change}                                   -

GET /api/v1/deliveries                                         audit:read
GET /api/v1/deliveries/{delivery}                              audit:read
POST /api/v1/deliveries/actions                                -
GET /api/v1/endpoints                                          audit:read
POST /api/v1/endpoints/stop                                    -
POST /api/v1/endpoints/start                                   -
GET /api/v1/agent-tokens                                       -
PUT /api/v1/agent-tokens/{recipient}                           -
DELETE /api/v1/agent-tokens/{recipient}                        -

GET /api/v1/nothing                                            any
`

// payload is in the arguments of a call, in a message of a room, in an event and
// in what an agent is told: only scopes that the table lists may show it.
const payload = "payload-canary"

// narrowRows reads the table: the scopes of each row of the matrix.
func narrowRows(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.SplitSeq(narrow, "\n") {
		fields := strings.Fields(line)
		n := slices.IndexFunc(fields, func(f string) bool {
			return f == "any" || f == "-" || slices.Contains(junctor.Scopes(), junctor.Scope(f))
		})
		switch {
		case len(fields) == 0:
		case n < 0:
			t.Errorf("the row %q says not which scopes open it", line)
		default:
			out[strings.Join(fields[:n], " ")] = fields[n:]
		}
	}
	return out
}

// A key with one scope gains no more than that scope, however powerful its user
// is: on every route it is refused, or it is one that the scope is for.
func TestNarrowKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	state := s.openState()
	table := narrowRows(t)
	s.maker, s.person = s.callers["admin"], "ada-"+within
	s.ownEverything()
	keys := map[string][]string{}
	for _, scope := range junctor.Scopes() {
		if scope != junctor.ScopeAdmin {
			token := s.add("POST", "/keys", `{"name":"narrow","user":"ada-`+within+`","scopes":["`+string(scope)+`"]}`).Key
			keys[string(scope)] = []string{"Authorization: Bearer " + token}
		}
	}
	asked := 0
	for _, r := range rows(t) {
		opens, known := table[r.name]
		if !known {
			t.Errorf("%s has no row in the table of narrow keys", r.name)
			continue
		}
		delete(table, r.name)
		asked += s.narrowRow(r, opens, keys, state)
	}
	for name := range table {
		t.Errorf("%s is in the table of narrow keys and not in the matrix", name)
	}
	t.Logf("figure: %d requests with keys of one scope, each allows only what the scope is for", asked)
}

// ownEverything makes what routes are about things of the maker, with the payload
// where people's words are kept.
func (s *scene) ownEverything() {
	s.t.Helper()
	for _, path := range []string{"/servers/books", "/agents/clerk"} {
		s.expect(204, "DELETE", "/api/v1"+path, "")
	}
	s.add("POST", "/servers", `{"id":"books","url":"`+s.peer+`","title":"`+within+`"}`)
	s.add("POST", "/agents", `{"name":"clerk","title":"`+within+`","tools":["books/*"],"brain":{"rules":"fallback: `+payload+`"}}`)
	s.thing("login", true)
	s.thing("consent", true)
	s.add("POST", "/events", `{"type":"`+within+`","data":{"text":"`+payload+`"}}`)
	s.add("POST", "/tools/demo__echo/call", `{"arguments":{"text":"`+payload+`"}}`)
	s.room = s.add("POST", "/rooms", `{"name":"`+within+`","members":[{"agent":"clerk"}]}`).ID
	r := s.ask("POST", "/api/v1/rooms/"+s.room+"/runs", `{"threadId":"","runId":"first","messages":[{"id":"m1","role":"user","content":"`+payload+`"}]}`, s.maker...)
	if r.Status != http.StatusOK {
		s.t.Fatalf("say something in a room: %d %s", r.Status, r.Body)
	}
	poll.Until(s.t, "the message in the room", time.Minute, func() bool { // it is stored behind the answer
		return strings.Contains(s.ask("GET", "/api/v1/rooms/"+s.room+"/messages", "", s.maker...).Body, payload)
	})
}

// narrowRow asks one row with every key: first those that must gain nothing, with
// the state held before and after, then those that the row is for.
func (s *scene) narrowRow(r row, opens []string, keys map[string][]string, state *stateReader) (asked int) {
	s.t.Helper()
	some := opens[0] == "any"
	send := func(scope string, fresh bool) testkit.Reply {
		path := placeholder.ReplaceAllStringFunc(r.path, func(p string) string {
			return s.thing(p[1:len(p)-1], fresh && !strings.Contains(r.path, "{secret}"))
		})
		before := state.read()
		asked++
		body := strings.NewReplacer("NEW", s.name(), "PEER", s.peer).Replace(bodies()[r.name])
		got := s.ask(r.method, path, body, append(headers(r.name), keys[scope]...)...)
		if slices.Contains(opens, scope) {
			return got
		}
		if diff := state.changed(before); diff != "" {
			s.t.Errorf("%s with %s changes something (-before +after):\n%s", r.name, scope, diff)
		}
		if strings.Contains(got.Body, payload) {
			s.t.Errorf("%s with %s shows a payload: %.400q", r.name, scope, got.Body)
		}
		return got
	}
	for _, scope := range junctor.Scopes() {
		switch scope := string(scope); {
		case scope == string(junctor.ScopeAdmin), slices.Contains(opens, scope), some && scope != "tools:read" && scope != "events:send":
		default:
			if got := send(scope, false); !some && !gainsNothing(got) {
				s.t.Errorf("%s with %s: %s, and the scope is not for that: %.400q", r.name, scope, answered(got), got.Body)
			}
		}
	}
	for _, scope := range opens {
		if scope == "any" || scope == "-" {
			continue
		}
		fresh := r.method == http.MethodDelete || strings.HasSuffix(r.path, "/disable")
		if got := send(scope, fresh); got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden {
			s.t.Errorf("%s with %s: %d, and the table says that it opens: %.400q", r.name, scope, got.Status, got.Body)
		}
	}
	return asked
}

// gainsNothing says whether an answer is a refusal, or a list of nothing.
func gainsNothing(r testkit.Reply) bool {
	if r.Status >= 400 || strings.HasSuffix(answered(r), "!") {
		return true
	}
	var list struct{ Items []json.RawMessage }
	return json.Unmarshal([]byte(r.Body), &list) == nil && list.Items != nil && len(list.Items) == 0
}

// stateReader reads what an instance has stored that a caller could gain by.
type stateReader struct {
	t     *testing.T
	store *store.Store
}

// state is what must be as it was after a refusal.
type state struct {
	Keys      []junctor.Key
	Users     []junctor.User // with the hashes of their passwords
	Logins    []junctor.Login
	Consents  []junctor.Consent
	Tenants   []junctor.Tenant
	Servers   []junctor.Server
	Agents    []junctor.Agent
	Triggers  []junctor.Trigger
	Sources   []junctor.Source
	Schedules []junctor.Schedule
	Models    []junctor.Model
	Tags      []junctor.ToolTag
	Rooms     []junctor.Room
	Secrets   []store.Secret
	Settings  []store.Setting
}

func (s *scene) openState() *stateReader {
	s.t.Helper()
	st, err := sqlite.Open(s.t.Context(), filepath.Join(s.Dir, "junctor.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = st.Close() })
	return &stateReader{s.t, st}
}

// read leaves out when credentials were last used: to be refused is a use.
func (r *stateReader) read() state {
	r.t.Helper()
	ctx, in := r.t.Context(), r.store.For(junctor.DefaultTenant)
	s := state{
		Keys: must(r.store.Keys(ctx))(r.t), Users: must(r.store.Users(ctx))(r.t), Logins: must(r.store.Logins(ctx, time.Now()))(r.t),
		Consents: must(in.Consents(ctx, ""))(r.t), Tenants: must(r.store.Tenants(ctx))(r.t), Servers: must(in.Servers(ctx))(r.t),
		Agents: must(in.Agents(ctx))(r.t), Triggers: must(in.Triggers(ctx))(r.t), Sources: must(in.Sources(ctx))(r.t),
		Schedules: must(in.Schedules(ctx))(r.t), Models: must(in.Models(ctx))(r.t), Tags: must(in.Tags(ctx))(r.t),
		Rooms: must(in.Rooms(ctx))(r.t), Secrets: must(in.Secrets(ctx))(r.t), Settings: must(in.Settings(ctx))(r.t),
	}
	for i := range s.Keys {
		s.Keys[i].LastUsedAt = time.Time{}
	}
	for i := range s.Logins {
		s.Logins[i].LastUsedAt = time.Time{}
	}
	return s
}

// changed describes what differs from before; "" says that nothing does. Two states are
// nearly always equal, which reflect sees a hundred times sooner than cmp.
func (r *stateReader) changed(before state) string {
	r.t.Helper()
	after := r.read()
	if reflect.DeepEqual(before, after) {
		return ""
	}
	return cmp.Diff(before, after)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
