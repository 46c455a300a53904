package policy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

// patience is far above what anything here takes.
const patience = 90 * time.Second

// audience is what tokens of the identity provider are for.
const audience = "policy-test"

// party is somebody who calls, as the model sees them.
type party struct {
	name, token string
	user, agent string
	groups      []string
}

// scene is a site with the servers of the model, and everybody who calls them.
type scene struct {
	*topology.Site
	t       *testing.T
	backend *backend
	parties map[string]party

	room    string
	views   map[string]string // ids, by party and server
	callers map[string]*program.Caller
	serial  int
}

// settings are those of every site of this package.
func settings(idp *oauthserver.Server) testkit.Settings {
	return testkit.Settings{
		"egress-allow": "127.0.0.0/8", "builtin": "", "oauth-issuers": idp.URL, "oauth-audiences": audience,
		"oauth-users": "create", "oauth-domains": "example.com", "oauth-role": "developer",
	}
}

// provider is an identity provider that vouches for cyd, who is in two groups.
func provider(t *testing.T) *oauthserver.Server {
	t.Helper()
	idp := oauthserver.Start(t)
	idp.Person(map[string]any{"sub": "cyd-1", "email": "cyd@example.com", "email_verified": true, "groups": []string{"finance", "ops"}})
	return idp
}

func newScene(t *testing.T, site *topology.Site, idp *oauthserver.Server) *scene {
	t.Helper()
	s := &scene{Site: site, t: t, backend: newBackend(t), parties: map[string]party{}, views: map[string]string{}, callers: map[string]*program.Caller{}}
	s.parties["service"] = party{name: "service", token: testkit.AdminKey}
	s.addUser("ada", "admin", "admin")
	s.addUser("bob", "developer", "tools:read", "tools:call")
	s.admit(idp)
	for _, id := range policymodel.Servers() {
		s.must(http.StatusCreated, "service", "POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q,"overrides":{%q:{"read_only":true}}}`, id, s.backend.URL+"/"+id, policymodel.ReadingTool), nil)
	}
	s.addAgent("bot", "ada", "ada")
	s.addAgent("helper", "service", "")
	var made struct{ ID string }
	s.must(http.StatusCreated, "ada", "POST", "/rooms", `{"name":"Den","policy":"addressed","approvals":"never","members":[{"agent":"bot"},{"agent":"helper"}]}`, &made)
	s.room = made.ID
	for _, who := range []string{"ada", "bob"} {
		for _, id := range policymodel.Servers() {
			s.must(http.StatusCreated, who, "POST", "/views", fmt.Sprintf(`{"server":%q,"tool":"show"}`, id), &made)
			s.views[who+" "+id] = made.ID
		}
	}
	return s
}

// addUser adds a user and a key of theirs.
func (s *scene) addUser(name, role string, scopes ...string) {
	s.t.Helper()
	s.must(http.StatusCreated, "service", "POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q,"tier":"unlimited"}`, name, role), nil)
	var made struct{ Key string }
	s.must(http.StatusCreated, "service", "POST", "/keys", fmt.Sprintf(`{"name":"k","user":%q,"scopes":%s}`, name, encode(scopes)), &made)
	s.parties[name] = party{name: name, token: made.Key, user: name}
}

// admit has the provider vouch for cyd, whose first request makes the user.
func (s *scene) admit(idp *oauthserver.Server) {
	s.t.Helper()
	claims := idp.Claims(audience, "tools:read tools:call")
	// Instances may have clocks of their own.
	claims["iat"], claims["exp"] = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	token, err := idp.Sign(claims, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.parties["cyd"] = party{name: "cyd", token: token, user: "cyd@example.com", groups: []string{"finance", "ops"}}
	s.listed(s.t, "cyd")
	s.must(http.StatusOK, "service", "PATCH", "/users/cyd@example.com", `{"tier":"unlimited"}`, nil)
}

// addAgent has somebody add an agent.
func (s *scene) addAgent(name, maker, owner string) {
	s.t.Helper()
	var made struct{ Key string }
	s.must(http.StatusCreated, maker, "POST", "/agents", fmt.Sprintf(`{"name":%q,"tier":"unlimited","published":true,"tools":["files/*","mail/*"],"brain":{"rules":"fallback: 'Yes?'\n"}}`, name), &made)
	s.parties[name] = party{name: name, token: made.Key, user: owner, agent: name}
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// as is the header line of somebody.
func (s *scene) as(who string) string { return "Authorization: Bearer " + s.parties[who].token }

// ask sends a request as somebody.
func (s *scene) ask(who, method, path, body string, header ...string) testkit.Reply {
	s.t.Helper()
	return s.Do(s.t, method, path, body, append([]string{s.as(who), "Origin: " + s.URL}, header...)...)
}

// must sends a request to the API, which has to be answered with the status.
func (s *scene) must(status int, who, method, path, body string, into any) {
	s.t.Helper()
	r := s.ask(who, method, "/api/v1"+path, body)
	if r.Status != status {
		s.t.Fatalf("%s %s as %s: %d, want %d: %s", method, path, who, r.Status, status, r.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(r.Body), into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, r.Body)
		}
	}
}

// enforce replaces all rules of the site.
func (s *scene) enforce(rules *policymodel.Rules) {
	s.t.Helper()
	s.must(http.StatusOK, "ada", "PUT", "/policies", `{"rules":`+encode(rules.Stored(junctor.DefaultTenant))+`}`, nil)
}

// recorded returns the records of calls with nonces, once all of them are in the history.
func (s *scene) recorded(t rapid.TB, since time.Time, nonces map[string]bool) map[string]*history.Entry {
	t.Helper()
	var found map[string]*history.Entry
	var last string
	if !poll.Holds(patience, func() bool {
		var page struct{ Items []history.Entry }
		r := s.ask("ada", "GET", "/api/v1/calls/history?kind=tool&limit=1000&since="+url.QueryEscape(since.UTC().Format(time.RFC3339Nano)), "")
		if last = r.Body; json.Unmarshal([]byte(r.Body), &page) != nil {
			return false
		}
		found = map[string]*history.Entry{}
		for i := range page.Items {
			e := &page.Items[i]
			if nonce := nonceOf(e.Params); nonces[nonce] && e.Status != junctor.StatusRunning {
				found[nonce] = e
			}
		}
		return len(found) == len(nonces)
	}) {
		t.Fatalf("%d of %d calls are on record after %v:\n%.3000s", len(found), len(nonces), patience, last)
	}
	return found
}

// nonceOf returns the nonce in the recorded parameters of a call, which are those of the
// request, or the arguments alone.
func nonceOf(params []byte) string {
	var p struct {
		Nonce     string
		Arguments struct{ Nonce string }
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	return p.Nonce + p.Arguments.Nonce
}

// explained returns what explains a call.
func (s *scene) explained(t rapid.TB, id string) (out admin.PolicyExplanation) {
	t.Helper()
	r := s.ask("ada", "GET", "/api/v1/calls/"+id+"/policies", "")
	if err := json.Unmarshal([]byte(r.Body), &out); err != nil || r.Status != http.StatusOK {
		t.Fatalf("the explanation of %s: %d %v %s", id, r.Status, err, r.Body)
	}
	return out
}

// simulated evaluates rules, or with nil the stored ones, on the calls since a time.
func (s *scene) simulated(t rapid.TB, rules []junctor.PolicyRule, since time.Time) (out admin.PolicySimulation) {
	t.Helper()
	body := fmt.Sprintf(`{"since":%q`, since.UTC().Format(time.RFC3339Nano))
	if rules != nil {
		body += `,"rules":` + encode(rules)
	}
	r := s.ask("ada", "POST", "/api/v1/policies/simulate", body+"}")
	if err := json.Unmarshal([]byte(r.Body), &out); err != nil || r.Status != http.StatusOK {
		t.Fatalf("the simulation: %d %v %s", r.Status, err, r.Body)
	}
	return out
}

// listed returns the names of the tools that somebody is shown, through each way that
// lists tools.
func (s *scene) listed(t rapid.TB, who string) map[string][]string {
	t.Helper()
	p := s.parties[who]
	out := map[string][]string{}
	read := func(way string, r testkit.Reply) {
		var list struct {
			Result struct{ Tools []struct{ Name string } }
			Tools  []struct{ Name string }
			Items  []struct{ Exposed string }
		}
		if err := json.Unmarshal([]byte(r.Body), &list); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%s lists tools for %s: %d %v %s", way, who, r.Status, err, r.Body)
		}
		names := []string{}
		for _, tool := range append(list.Result.Tools, list.Tools...) {
			names = append(names, tool.Name)
		}
		for _, tool := range list.Items {
			names = append(names, tool.Exposed)
		}
		out[way] = names
	}
	const request = `{"jsonrpc":"2.0","id":1,"method":"tools/list"%s}`
	modern := fmt.Sprintf(request, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
	read("/mcp", s.ask(who, "POST", "/mcp", modern, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"))
	if who == "cyd" {
		return out
	}
	read("/mcp/request", s.ask(who, "POST", "/mcp/request", fmt.Sprintf(request, "")))
	read("/mcp/tools", s.ask(who, "GET", "/mcp/tools", ""))
	if p.agent == "" {
		read("/api/v1/tools", s.ask(who, "GET", "/api/v1/tools?limit=500", ""))
	}
	if p.agent != "" {
		read("tools of the agent", s.ask("ada", "GET", "/api/v1/agents/"+p.agent+"/tools", ""))
	}
	if who == "ada" || who == "bob" {
		for _, id := range policymodel.Servers() {
			r := s.ask(who, "POST", "/api/v1/views/"+s.views[who+" "+id]+"/rpc", `{"method":"tools/list","params":{}}`)
			before := out["view"]
			read("view", r)
			for i, name := range out["view"] {
				out["view"][i] = id + "__" + strings.TrimPrefix(name, id+"__")
			}
			out["view"] = append(before, out["view"]...)
		}
	}
	return out
}
