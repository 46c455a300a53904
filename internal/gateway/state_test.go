package gateway_test

import (
	"testing"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// wanting calls a tool that wants input, with the state and answer of a second
// round where there is one.
func wanting(tool, state, more string) string {
	params := `"name":"` + tool + `"` + more
	if state != "" {
		params += `,"requestState":"` + state + `","inputResponses":{"q":{"action":"accept","content":{}}}`
	}
	return request("1", "tools/call", params, meta(capabilities(`{"elicitation":{}}`)))
}

func stateOf(t testing.TB, body string) string {
	t.Helper()
	state, _ := parse(t, body).Result["requestState"].(string)
	if state == "" {
		t.Fatalf("no state: %s", body)
	}
	return state
}

// A state works once, for the one who got it, for what was asked. Whatever else
// is tried, the tool hears nothing of it.
func TestStatesCannotBeTraded(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	other := "Authorization: Bearer " + newKey(t, i, "tools:call")
	change := func(s string, at int) string {
		b := []byte(s)
		if b[at] == 'A' {
			b[at] = 'B'
		} else {
			b[at] = 'A'
		}
		return string(b)
	}
	for _, c := range []struct {
		name string
		try  func(state string) (body string, header []string)
		ok   bool
	}{
		{"as it is", func(s string) (string, []string) { return wanting("probe__want", s, ""), nil }, true},
		{"first byte", func(s string) (string, []string) { return wanting("probe__want", change(s, 0), ""), nil }, false},
		{"byte in the middle", func(s string) (string, []string) { return wanting("probe__want", change(s, len(s)/2), ""), nil }, false},
		{"last byte but one", func(s string) (string, []string) { return wanting("probe__want", change(s, len(s)-2), ""), nil }, false},
		{"cut", func(s string) (string, []string) { return wanting("probe__want", s[:len(s)-4], ""), nil }, false},
		{"longer", func(s string) (string, []string) { return wanting("probe__want", s+"AAAA", ""), nil }, false},
		{"another principal", func(s string) (string, []string) { return wanting("probe__want", s, ""), []string{other} }, false},
		{"another tool", func(s string) (string, []string) { return wanting("probe__want2", s, ""), nil }, false},
		{"other arguments", func(s string) (string, []string) { return wanting("probe__want", s, `,"arguments":{"a":1}`), nil }, false},
		{"a session id", func(string) (string, []string) {
			return wanting("probe__want", open(t, i, "2025-11-25", "{}", "").id, ""), nil
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := stateOf(t, post(t, i, wanting("probe__want", "", "")).Body)
			before := p.runs.Load()
			body, header := c.try(state)
			r := post(t, i, body, header...)
			a := parse(t, r.Body)
			switch ran := p.runs.Load() - before; {
			case c.ok && (a.text() == "" || ran != 1):
				t.Errorf("%d runs, %s", ran, r.Body)
			case !c.ok && (r.Status != 400 || a.code() != wire.CodeInvalidParams || ran != 0):
				t.Errorf("%d runs, %d %s", ran, r.Status, r.Body)
			}
			if !c.ok {
				return
			}
			again := post(t, i, body)
			if a := parse(t, again.Body); a.code() != wire.CodeInvalidParams || p.runs.Load() != before+1 {
				t.Errorf("used twice: %d %s", again.Status, again.Body)
			}
		})
	}
}

// Rounds of a modern client: every state is a new one, and answers are kept.
func TestModernRounds(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	both := meta(capabilities(`{"elicitation":{},"sampling":{}}`))
	params := []string{`"name":"probe__rounds"`, both}
	seen := map[string]bool{}
	for _, answers := range []string{
		`{"first":{"action":"accept","content":{"n":1}},"extra":{}}`,
		`{"second":{"action":"accept","content":{"n":2}}}`,
		`{"third":{"action":"accept","content":{"n":3}}}`, // one is missing: it is asked for again
		`{"model":{"role":"assistant","content":{"type":"text","text":"4"},"model":"m"}}`,
	} {
		r := post(t, i, request("1", "tools/call", params...))
		state := stateOf(t, r.Body)
		if a := parse(t, r.Body); a.Result["resultType"] != wire.ResultInputRequired || seen[state] || a.Result["ttlMs"] != nil {
			t.Fatalf("%s", r.Body)
		}
		seen[state] = true
		params = []string{`"name":"probe__rounds"`, `"requestState":"` + state + `"`, `"inputResponses":` + answers, both}
	}
	want := `first={"action":"accept","content":{"n":1}} second={"action":"accept","content":{"n":2}} third={"action":"accept","content":{"n":3}} model={"role":"assistant","content":{"type":"text","text":"4"},"model":"m"} `
	if got := parse(t, post(t, i, request("1", "tools/call", params...)).Body).text(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
