package servers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

const declaredEvents = `
sources:
  hooks: {style: hmac, secret: hook-secret-canary, agent_field: data.agent}
triggers:
  greet:
    match: {type: greeting}
    action: {server: demo, tool: echo, template: {text: "hello {{data.name}}"}}
schedules:
  nightly: {cron: "0 3 * * *", type: report.due, data: {days: 7}}
`

// delivered sends an event and waits until the call that it leads to is made.
func delivered(t *testing.T, i *testkit.Instance, name string) (arguments string) {
	t.Helper()
	r := i.Do(t, "POST", "/api/v1/events", `{"type":"greeting","data":{"name":"`+name+`"}}`)
	var taken junctor.Taken
	if err := json.Unmarshal([]byte(r.Body), &taken); err != nil || len(taken.Deliveries) != 1 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var d struct {
		State     string
		Arguments json.RawMessage
	}
	poll.Until(t, "the delivery", 2*time.Minute, func() bool {
		r := i.Do(t, "GET", "/api/v1/deliveries/"+taken.Deliveries[0], "")
		return json.Unmarshal([]byte(r.Body), &d) == nil && d.State == "done"
	})
	return string(d.Arguments)
}

func TestDeclaredEventsAreTheFiles(t *testing.T) {
	t.Parallel()
	s := newSettings(t, declaredEvents)
	i := start(t, testkit.Settings{"config": s.path})
	if st := s.state(t, i); !st.OK {
		t.Fatalf("%+v", st)
	}
	if got := delivered(t, i, "Ann"); got != `{"text":"hello Ann"}` {
		t.Errorf("it was called with %s", got)
	}
	if r := i.Do(t, "GET", "/api/v1/tools", ""); !strings.Contains(r.Body, "events__send") {
		t.Error("a declared trigger does not bring the server of events")
	}
	for _, ask := range [][3]string{
		{"PATCH", "/api/v1/triggers/greet", `{"disabled":true}`},
		{"DELETE", "/api/v1/triggers/greet", ""},
		{"PATCH", "/api/v1/sources/hooks", `{"title":"x"}`},
		{"DELETE", "/api/v1/sources/hooks", ""},
		{"PUT", "/api/v1/schedules/nightly", `{"cron":"@daily","type":"x"}`},
		{"DELETE", "/api/v1/schedules/nightly", ""},
	} {
		if r := i.Do(t, ask[0], ask[1], ask[2]); r.Status != 409 || !strings.Contains(r.Body, "change it in that file") {
			t.Errorf("%v: %d %s", ask, r.Status, r.Body)
		}
	}

	// A file that is wrong changes nothing.
	s.put(t, strings.Replace(declaredEvents, "{{data.name}}", "{{nothing.at.all}}", 1))
	var st fileState
	poll.Until(t, "a file that is refused", 2*time.Minute, func() bool { st = s.state(t, i); return !st.OK })
	if len(st.Problems) != 1 || !strings.Contains(st.Problems[0].Message, "triggers.greet: ") || !strings.HasPrefix(st.Problems[0].Where, s.path+":5:3") {
		t.Errorf("%+v", st)
	}
	if got := delivered(t, i, "Ben"); got != `{"text":"hello Ben"}` {
		t.Errorf("it was called with %s", got)
	}

	// What cannot be had is said, and keeps nothing else away.
	if r := i.Do(t, "POST", "/api/v1/triggers", `{"name":"mine","match":{"type":"other"},"action":{"server":"demo","tool":"echo"}}`); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	changed := strings.Replace(declaredEvents, "hello", "bye", 1) + "  hourly: {cron: '@hourly', type: tick}\n"
	changed = strings.Replace(changed, "triggers:", "triggers:\n  mine: {action: {server: demo, tool: add}}\n  lost: {action: {server: gone, tool: x}}", 1)
	changed = strings.Replace(changed, "hook-secret-canary", "env:NO_SUCH_VARIABLE_HERE", 1)
	st = s.becomes(t, i, changed)
	if st.OK || len(st.Problems) != 3 {
		t.Fatalf("%+v", st)
	}
	for n, want := range []string{"NO_SUCH_VARIABLE_HERE", `no server "gone"`, "junctor trigger rm mine"} {
		if !strings.Contains(st.Problems[n].Message, want) {
			t.Errorf("%+v does not say %q", st.Problems[n], want)
		}
	}
	if got := delivered(t, i, "Cid"); got != `{"text":"bye Cid"}` {
		t.Errorf("it was called with %s", got)
	}
	if r := i.Do(t, "GET", "/api/v1/schedules", ""); !strings.Contains(r.Body, `"hourly"`) {
		t.Errorf("%s", r.Body)
	}

	// What the file no longer has is gone; what people made stays.
	st = s.becomes(t, i, "servers: {}\n")
	for path, gone := range map[string]string{"triggers": "greet", "sources": "hooks", "schedules": "nightly"} {
		if r := i.Do(t, "GET", "/api/v1/"+path, ""); !st.OK || strings.Contains(r.Body, gone) {
			t.Errorf("%+v, %s", st, r.Body)
		}
	}
	if r := i.Do(t, "GET", "/api/v1/triggers/mine", ""); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestEventsAreExportedAndApplied(t *testing.T) {
	t.Parallel()
	one, two := start(t, nil), start(t, nil)
	apply := func(i *testkit.Instance, file, more string, header ...string) testkit.Reply {
		t.Helper()
		body, err := json.Marshal(map[string]string{"file": file})
		if err != nil {
			t.Fatal(err)
		}
		return i.Do(t, "POST", "/api/v1/apply", strings.TrimSuffix(string(body), "}")+more+"}", header...)
	}
	export := func(i *testkit.Instance) string {
		t.Helper()
		var out struct{ Text string }
		if err := json.Unmarshal([]byte(i.Do(t, "GET", "/api/v1/export", "").Body), &out); err != nil {
			t.Fatal(err)
		}
		return out.Text
	}
	if r := apply(one, declaredEvents, "", as(key(t, one, "servers:write,agents:write,tools:read,tools:call"))); r.Status != 403 {
		t.Errorf("without admin: %d %s", r.Status, r.Body)
	}
	if r := apply(one, declaredEvents, `,"dry_run":true`); strings.Count(r.Body, `"action":"add"`) != 3 || strings.Contains(export(one), "greet") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := apply(one, declaredEvents, ""); strings.Count(r.Body, `"done":true`) != 3 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	d, err := config.Parse("f", []byte(declaredEvents))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := applied(t, one, d, ""); len(again) != 0 { // as the command line sends it
		t.Errorf("a second time: %v", again)
	}
	if got := delivered(t, one, "Ann"); got != `{"text":"hello Ann"}` {
		t.Errorf("it was called with %s", got)
	}
	if r := apply(one, strings.Replace(declaredEvents, "hook-secret-canary", "hook-secret-canary-2", 1), `,"dry_run":true`); strings.Count(r.Body, `"action"`) != 1 || !strings.Contains(r.Body, `*** (another)`) || strings.Contains(r.Body, "canary") {
		t.Errorf("another secret: %s", r.Body)
	}
	text := export(one)
	if strings.Contains(text, "canary") || !strings.Contains(text, "env:MCP_SOURCE_HOOKS_SECRET") || !strings.Contains(text, "hello {{data.name}}") {
		t.Fatalf("%s", text)
	}
	other := strings.Replace(text, "env:MCP_SOURCE_HOOKS_SECRET", "hook-secret-canary", 1)
	if r := apply(two, other, ""); strings.Count(r.Body, `"done":true`) != 3 {
		t.Fatalf("%d %s\n%s", r.Status, r.Body, other)
	}
	if got := export(two); got != text {
		t.Errorf("%s\nis not\n%s", got, text)
	}
	if r := apply(two, "triggers: {}", `,"prune":true`); strings.Count(r.Body, `"action"`) != 1 || !strings.Contains(r.Body, `"id":"greet","action":"remove","done":true`) {
		t.Errorf("%s", r.Body)
	}
}
