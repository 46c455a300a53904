package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// The three things that a maker of agents needs: an agent with the tools that
// were selected for it, other tools for it later, and the list to select from,
// for all roles or for one.
func TestMakingAnAgentAndChoosingItsTools(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		ann := s.user("ann", junctor.UserDeveloper)
		s.request("PUT", "/tools/alpha__one/tag", `{"roles":["QA"]}`, 200, nil)
		s.request("PUT", "/tools/alpha__two/tag", `{"roles":["Finance"]}`, 200, nil)
		available := func(role string) string {
			names := s.exposed("/api/v1/tools?server=alpha"+role, ann)
			return strings.Join(names, " ")
		}
		for role, want := range map[string]string{
			"": "alpha__one alpha__three alpha__two", "&role=QA": "alpha__one alpha__three", "&role=Finance": "alpha__three alpha__two",
		} {
			if got := available(role); got != want {
				s.t.Errorf("available%s: %s, want %s", role, got, want)
			}
		}
		key := "Authorization: Bearer " + s.createdKey(s.expect(201, "POST", "/api/v1/agents", `{"name":"qa-bot","role":"QA","tools":["alpha/one"]}`, ann)).Key
		sees := func() string { return strings.Join(s.exposed("/api/v1/tools", key), " ") }
		if got := sees(); got != "alpha__one" {
			s.t.Errorf("a new agent sees %s", got)
		}
		s.expect(200, "PATCH", "/api/v1/agents/qa-bot", `{"tools":["alpha__three"]}`, ann)
		if got := sees(); got != "alpha__three" {
			s.t.Errorf("with other tools it sees %s", got)
		}
		// What is not suggested for its role can be selected all the same.
		s.expect(200, "PATCH", "/api/v1/agents/qa-bot", `{"tools":["alpha/two"]}`, ann)
		if got := sees(); got != "alpha__two" {
			s.t.Errorf("with a tool of another role it sees %s", got)
		}
	})
}

// An agent's own limits can be taken away again: then its tier's hold.
func TestLimitsOfAnAgentAreTakenAway(t *testing.T) {
	t.Parallel()
	s := start(t, testkit.Settings{})
	s.agent(`{"name":"bot","tools":["alpha/*"],"tier":"pro","limits":{"per_day":1}}`)
	limits := func(body string) *junctor.Limits {
		t.Helper()
		var a junctor.Agent
		s.request("PATCH", "/agents/bot", body, 200, &a)
		return a.Limits
	}
	call := func(want bool) {
		t.Helper()
		if ok, told := s.modernEndpoint("/mcp/a/bot", "X-Nothing: 1").call("alpha", "one", `{}`); ok != want {
			t.Errorf("called: %t, want %t: %s", ok, want, told)
		}
	}
	call(true)
	call(false)
	if l := limits(`{"title":"x"}`); l == nil || l.PerDay != 1 {
		t.Errorf("another change: %+v", l)
	}
	if l := limits(`{"limits":null}`); l != nil {
		t.Errorf("taken away: %+v", l)
	}
	call(true)
	if l := limits(`{"limits":{"per_day":7}}`); l == nil || l.PerDay != 7 {
		t.Errorf("others: %+v", l)
	}
	for _, bad := range []string{`{"limits":{"per_dya":1}}`, `{"limits":{"Per_Day":1}}`, `{"limits":{"per_day":-1}}`, `{"limits":[]}`, `{}`} {
		s.expect(422, "PATCH", "/api/v1/agents/bot", bad)
	}
	s.expect(201, "POST", "/api/v1/agents", fmt.Sprintf(`{"name":%q,"limits":null}`, "free"))
}

// createdKey reads what an answer says of a new agent.
func (s *scene) createdKey(r testkit.Reply) (out struct{ Key string }) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}
