package servers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// agentKey makes a key of an agent.
func agentKey(t testing.TB, i *testkit.Instance, name string) string {
	t.Helper()
	r := i.Do(t, "POST", "/api/v1/keys", `{"name":"k","agent":"`+name+`","scopes":["tools:read","tools:call"]}`)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(r.Body), &made); err != nil || made.Key == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return made.Key
}

func TestADeclaredAgentIsTheFiles(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	notes := "servers:\n" + declared("notes", p, "")
	// The list of notes is not there yet when the agent is.
	s := newSettings(t, notes+"agents:\n  bot: {role: QA, tools: [notes/echo]}\n")
	i := start(t, testkit.Settings{"config": s.path})
	if st := s.state(t, i); !st.OK {
		t.Fatalf("%+v", st)
	}
	if r := i.Do(t, "GET", "/api/v1/keys", ""); strings.Contains(r.Body, `"agent":"bot"`) {
		t.Errorf("a key that nobody has seen: %s", r.Body)
	}
	bot := as(agentKey(t, i, "bot"))
	echo := func() int {
		return i.Do(t, "POST", "/api/v1/tools/notes__echo/call", `{"arguments":{"text":"x"}}`, bot).Status
	}
	poll.Until(t, "an answer of the echo", time.Minute, func() bool { return echo() == 200 })

	for _, ask := range [][3]string{
		{"PATCH", "/api/v1/agents/bot", `{"tools":["demo/*"]}`},
		{"PATCH", "/api/v1/agents/bot", `{"disabled":true}`},
		{"DELETE", "/api/v1/agents/bot", ""},
	} {
		if r := i.Do(t, ask[0], ask[1], ask[2]); r.Status != 409 || !strings.Contains(r.Body, "change it in that file") || !strings.Contains(r.Body, s.path) {
			t.Errorf("%v: %d %s", ask, r.Status, r.Body)
		}
	}

	// One more, and one changed: the change is in force, and the key goes on.
	if r := i.Do(t, "POST", "/api/v1/agents", `{"name":"mine"}`); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	st := s.becomes(t, i, notes+"agents:\n  bot: {role: QA, tools: [demo/echo], limits: {per_day: 50}}\n  other: {tools: ['notes/*']}\n  mine: {role: QA}\n  lost: {tools: [gone/x]}\n")
	if st.OK || len(st.Problems) != 2 {
		t.Fatalf("%+v", st)
	}
	for n, want := range []string{`there is no server "gone", and the files declare none`, "junctor agent rm mine"} {
		if !strings.Contains(st.Problems[n].Message, want) || !strings.HasPrefix(st.Problems[n].Where, s.path+":") {
			t.Errorf("%+v does not say %q", st.Problems[n], want)
		}
	}
	if got := echo(); got != 404 {
		t.Errorf("what was taken from the list answers %d", got)
	}
	if r := i.Do(t, "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"x"}}`, bot); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, "GET", "/api/v1/agents/other", ""); !strings.Contains(r.Body, `"notes/*"`) || !strings.Contains(r.Body, `"declared":"`+s.path+`"`) {
		t.Errorf("%s", r.Body)
	}

	// A server that goes while an agent of the file is to use it is a problem of the agent's.
	st = s.becomes(t, i, "servers: {}\nagents:\n  bot: {role: QA, tools: [demo/echo], limits: {per_day: 50}}\n  other: {tools: ['notes/*']}\n")
	if st.OK || len(st.Problems) != 1 || !strings.Contains(st.Problems[0].Message, `no server "notes"`) {
		t.Errorf("%+v", st)
	}

	// What the file no longer has is gone, its keys too; what people made stays.
	st = s.becomes(t, i, "servers: {}\n")
	if r := i.Do(t, "GET", "/api/v1/agents/bot", ""); !st.OK || r.Status != 404 {
		t.Errorf("%+v, %d %s", st, r.Status, r.Body)
	}
	if r := i.Do(t, "GET", "/api/v1/tools", "", bot); r.Status != 401 {
		t.Errorf("the key of an agent that is gone: %d", r.Status)
	}
	if r := i.Do(t, "GET", "/api/v1/agents/mine", ""); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// Apply gives nobody more than the API does, and prune leaves alone what is not
// spoken of.
func TestApplyJudgesAgents(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "agents: {filed: {tools: [demo/echo]}}\n")
	i := start(t, testkit.Settings{"config": s.path})
	apply := func(body string, header ...string) testkit.Reply {
		return i.Do(t, "POST", "/api/v1/apply", body, header...)
	}
	if r := apply(`{"agents":{"a":{}}}`, as(key(t, i, "servers:write,tools:read,tools:call"))); r.Status != 403 || !strings.Contains(r.Body, "agents:write") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	maker := as(key(t, i, "servers:write,agents:write,tools:read,tools:call"))
	if r := apply(`{"agents":{"a":{"tools":["demo/echo"]}}}`, maker); !strings.Contains(r.Body, `"id":"a","action":"add","done":true`) || strings.Contains(r.Body, "jct_") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	r := apply(`{"agents":{"filed":{"title":"x"},"a":{"tools":["demo/nothing"]},"b":{"role":"Cook"},"c":{"tier":"gold"},"d":{"tools":["nowhere/*"]}},"prune":true}`)
	for _, want := range []string{"change it in that file", `unknown role \"Cook\"`, `unknown tier \"gold\"`, `no server \"nowhere\"`, "demo/nothing cannot be given"} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("%s is not in %s", want, r.Body)
		}
	}
	other := as(key(t, i, "servers:write,agents:write,tools:read,tools:call"))
	if r := apply(`{"agents":{"a":{"title":"x"}}}`, other); !strings.Contains(r.Body, "only its owner or an admin may") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := apply(`{"agents":{},"prune":true}`, other); strings.Contains(r.Body, "remove") {
		t.Errorf("another's: %s", r.Body)
	}
	if r := apply(`{"servers":{},"prune":true}`); strings.Contains(r.Body, "remove") {
		t.Errorf("not spoken of: %s", r.Body)
	}
	if r := apply(`{"agents":{},"prune":true}`); strings.Count(r.Body, `"action"`) != 1 || !strings.Contains(r.Body, `"id":"a","action":"remove","done":true`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
