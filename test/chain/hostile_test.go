package chain

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// deliveries gives what became of calls for an agent, by its number.
func (r *rig) deliveries(t testing.TB, id int) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, one := range r.api(t, "GET", "/deliveries?limit=500", "", 200)["items"].([]any) {
		d := one.(map[string]any)
		if strings.HasSuffix(fmt.Sprint(d["agent"]), fmt.Sprintf("/%d", id)) {
			out = append(out, d)
		}
	}
	return out
}

// A registration with a command, in every form and spelling: nothing runs, under
// any setting, and the delivery says why.
func TestCommandsOfRegistrationsNeverRun(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	e := anvil(t)
	uris := map[int64]string{}
	forms := []string{
		`"transport":"stdio","command":"touch","args":["%s"]`,
		`"command":"/bin/sh","args":["-c","touch %s"]`,
		`"Command":"touch %s"`, `"CMD":"touch %s"`, `"exec":["touch","%s"]`,
		`"endpoint":"stdio:touch %s"`, `"endpoint":"touch %s"`, `"url":"file://%s"`,
		`"transport":"stdio","endpoint":"http://127.0.0.1:1/","args":["%s"]`,
		`"args":["%s"],"endpoint":"http://127.0.0.1:1/mcp"`,
		`"env":{"CANARY":"%s"},"endpoint":"http://127.0.0.1:1/mcp"`,
	}
	id := int64(0)
	for _, form := range forms {
		entry := fmt.Sprintf(form, canary)
		for _, file := range []string{
			`{"services":[{"name":"MCP",` + entry + `}]}`,
			`{"endpoints":[{"name":"mcp",` + entry + `}]}`,
			`{"capabilities":{"mcp":{` + entry + `}}}`,
		} {
			id++
			uris[id] = "data:application/json," + file
		}
	}
	e.install(t, uris)
	r := start(t, e, 0, "allow_commands: true")
	r.trigger(t, "chain-feedback", nil)
	for i := int64(1); i <= id; i++ {
		e.emit(t, reputationRegistry, newFeedback, int(i), client, 1, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	poll.Until(t, "every delivery is dead", patience, func() bool {
		dead := 0
		for i := int64(1); i <= id; i++ {
			for _, d := range r.deliveries(t, int(i)) {
				if d["state"] == "dead" {
					dead++
				}
			}
		}
		return dead == int(id)
	})
	for i := int64(1); i <= id; i++ {
		d := r.deliveries(t, int(i))[0]
		if why := fmt.Sprint(d["error"]); !strings.Contains(why, "never run") {
			t.Errorf("%s: %s", uris[i], why)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a command of a registration was run")
	}
	blocked := 0
	for _, one := range r.api(t, "GET", "/chains/agents", "", 200)["items"].([]any) {
		blocked += len(one.(map[string]any)["blocked"].([]any))
	}
	if blocked != int(id) {
		t.Errorf("%d commands are shown as blocked, of %d", blocked, id)
	}
	t.Logf("%d registrations with commands: none ran", id)
}

// Registrations and files that are hostile: each has its reason, nothing is
// delivered, and nobody else waits.
func TestHostileFiles(t *testing.T) {
	a := newAgent(t)
	slow := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/huge":
			for range 2000 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		case "/compressed": // far more than it looks
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb(t))
		case "/slow":
			select {
			case <-slow:
			case <-req.Context().Done():
			}
		case "/away":
			http.Redirect(w, req, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/file":
			_, _ = w.Write([]byte(`{"agentId":42,"comment":"changed"}`))
		case "/wrong":
			_, _ = w.Write([]byte(`{"agentId":43}`))
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(func() { close(slow); web.Close() })
	e := anvil(t)
	deep := `{"a":` + strings.Repeat("[", 10_500) + strings.Repeat("]", 10_500) + "}"
	cases := []struct{ name, uri, says string }{
		{"huge", web.URL + "/huge", "larger"},
		{"compressed", web.URL + "/compressed", "larger"},
		{"deep", "data:application/json," + deep, "malformed"},
		{"no JSON", "data:,hello", "malformed"},
		{"wrong types", `data:,{"services":"all"}`, "does not expose MCP"},
		{"another agent", `data:,{"registrations":[{"agentId":99,"agentRegistry":"eip155:31337:` + identityRegistry.String() + `"}]}`, "names another agent"},
		{"inactive", `data:,{"active":false}`, "not active"},
		{"forbidden", web.URL + "/none", "403"},
		{"redirected inside", web.URL + "/away", "not allowed"},
		{"metadata address", "http://169.254.169.254/latest", "not allowed"},
		{"another scheme", "gopher://127.0.0.1/", "must be an address with the scheme"},
		{"an endpoint inside", `data:,{"services":[{"name":"MCP","endpoint":"http://169.254.169.254/mcp"}]}`, "not allowed"},
	}
	uris := map[int64]string{42: registration(42, mcpAt(a.url)), 50: web.URL + "/slow"}
	for i, c := range cases {
		uris[int64(100+i)] = c.uri
	}
	e.install(t, uris)
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	tell := func(id int, uri string, hash erc8004.Word) {
		e.emit(t, reputationRegistry, newFeedback, id, client, 1, 80, 0, "starred", "starred", "", "", uri, hash)
	}
	tell(50, "", erc8004.Word{})
	for i := range cases {
		tell(100+i, "", erc8004.Word{})
	}
	tell(42, "", erc8004.Word{})
	poll.Until(t, "an agent that is well is told", patience, func() bool { return len(a.got()) == 1 })
	for i, c := range cases {
		var d map[string]any
		poll.Until(t, c.name, patience, func() bool {
			all := r.deliveries(t, 100+i)
			if len(all) != 1 {
				return false
			}
			d = all[0]
			return d["state"] == "dead" || d["error"] != nil && d["error"] != ""
		})
		if why := fmt.Sprint(d["error"]); !strings.Contains(why, c.says) {
			t.Errorf("%s: %s (%s), want %q", c.name, why, d["state"], c.says)
		}
	}
	// Files of feedback that are not what the chain says.
	for name, c := range map[string]struct {
		uri  string
		hash erc8004.Word
		says string
	}{
		"changed":       {web.URL + "/file", erc8004.Keccak([]byte("before")), "expected keccak256 " + erc8004.Keccak([]byte("before")).String()},
		"contradicting": {web.URL + "/wrong", erc8004.Keccak([]byte(`{"agentId":43}`)), "contradicts the chain"},
		"missing":       {"ipfs://bafkreigsqkj3hcwkttn3d66k3hnxf7jjbpcmqd6v7wrzcek3bvvhdm3wjy", erc8004.Word{}, "no IPFS gateway has the content"},
	} {
		before := len(r.deliveries(t, 42))
		tell(42, c.uri, c.hash)
		poll.Until(t, name, patience, func() bool {
			all := r.deliveries(t, 42)
			return len(all) > before && strings.Contains(fmt.Sprint(all[0]["error"]), c.says)
		})
		if c.hash.IsZero() { // it is tried again, and must not stand before the next
			r.api(t, "POST", "/deliveries/actions", fmt.Sprintf(`{"action":"drop","ids":[%q]}`, r.deliveries(t, 42)[0]["id"]), 200)
		}
	}
	// A file that nothing proves is left out, and the call is made.
	told := len(a.got())
	tell(42, web.URL+"/file", erc8004.Word{})
	poll.Until(t, "a call without its file", patience, func() bool { return len(a.got()) == told+1 })
	if c := a.got()[told]; c.Arguments["fileContent"] != nil || c.Arguments["fileUri"] != web.URL+"/file" {
		t.Errorf("%+v", c)
	}
	// So is one that nothing can be fetched from: anybody can name it.
	for i, uri := range []string{"ipfs://bogus", "gopher://x/", "http://169.254.169.254/file"} {
		tell(42, uri, erc8004.Keccak([]byte("x")))
		poll.Until(t, "a call without "+uri, patience, func() bool { return len(a.got()) == told+2+i })
		var d map[string]any
		poll.Until(t, "its end", patience, func() bool { // the agent has the call before that is stored
			d = r.deliveries(t, 42)[0]
			return d["state"] != "leased"
		})
		if d["attempts"] != float64(1) {
			t.Errorf("%s: %v", uri, d)
		}
	}
}

// A token is sent in the header that the registration asks for, unless somebody named
// another one when the token was entered.
func TestTokenHeaderOfTheRegistration(t *testing.T) {
	a, e := newAgent(t), anvil(t)
	e.install(t, map[int64]string{42: fmt.Sprintf(`data:application/json,{"name":"x","capabilities":{"mcp":{"transport":"http","url":%q,"authentication":{"type":"bearer","tokenHeader":"x-api-key"}}}}`, a.url)})
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	name := fmt.Sprintf("eip155:31337:%s/42", identityRegistry)
	enter := func(header string) {
		t.Helper()
		r.api(t, "PUT", "/agent-tokens/"+url.PathEscape(name), fmt.Sprintf(`{"url":%q,"token":"s3cret-of-42"%s}`, a.url, header), 200)
	}
	enter("")
	for i, header := range []string{"X-API-Key", "X-Agent-Token"} {
		e.emit(t, reputationRegistry, newFeedback, 42, client, i+1, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
		poll.Until(t, "a call", patience, func() bool { return len(a.got()) == i+1 })
		if got := a.tokens(header); len(got) != 1 || got[0] != "s3cret-of-42" {
			t.Fatalf("the token in %s is %q", header, got)
		}
		enter(`,"header":"X-Agent-Token"`)
	}
}

// A token goes to the agent and the origin that it was entered for, and nowhere
// when the agent changes hands.
func TestTokensStay(t *testing.T) {
	a, thief, e := newAgent(t), newAgent(t), anvil(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	name := fmt.Sprintf("eip155:31337:%s/42", identityRegistry)
	r.secret(t, name, a.url, "s3cret-of-42")
	tell := func(i int) {
		e.emit(t, reputationRegistry, newFeedback, 42, client, i, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	tell(1)
	poll.Until(t, "the first", patience, func() bool { return len(a.got()) == 1 })
	if got := a.tokens("X-Agent-Token"); len(got) != 1 || got[0] != "s3cret-of-42" {
		t.Fatalf("the token is %q", got)
	}
	// The registration names another host now.
	e.install(t, map[int64]string{42: registration(42, mcpAt(thief.url))})
	e.emit(t, identityRegistry, uriUpdated, 42, "ipfs://new", client)
	tell(2)
	poll.Until(t, "the second, elsewhere", patience, func() bool { return len(thief.got()) == 1 })
	if thief.heardOf("s3cret") {
		t.Error("a token went to another origin")
	}
	// Back where it was, and with another owner.
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	e.emit(t, identityRegistry, uriUpdated, 42, "ipfs://old", client)
	e.emit(t, identityRegistry, transfer, client, erc8004.Address{0xee}, 42)
	a.mu.Lock()
	a.heard = nil
	a.mu.Unlock()
	tell(3)
	poll.Until(t, "the third is held", patience, func() bool {
		for _, d := range r.deliveries(t, 42) {
			if d["state"] == "held" && strings.Contains(fmt.Sprint(d["error"]), "transferred") {
				return true
			}
		}
		return false
	})
	if got := a.tokens("X-Agent-Token"); len(got) != 0 {
		t.Errorf("the token of the former owner was sent: %q", got)
	}
	r.secret(t, name, a.url, "s3cret-anew")
	poll.Until(t, "the third, with a new token", patience, func() bool { return len(a.got()) == 2 })
	if got := a.tokens("X-Agent-Token"); len(got) != 1 || got[0] != "s3cret-anew" {
		t.Errorf("the token is %q", got)
	}
	// With another owner and another host at once.
	e.install(t, map[int64]string{42: registration(42, mcpAt(thief.url))})
	e.emit(t, identityRegistry, transfer, erc8004.Address{0xee}, erc8004.Address{0xef}, 42)
	e.emit(t, identityRegistry, uriUpdated, 42, "ipfs://newer", client)
	tell(4)
	poll.Until(t, "the fourth, elsewhere", patience, func() bool { return len(thief.got()) == 2 })
	if thief.heardOf("s3cret") {
		t.Error("a token went to another owner at another origin")
	}
}

// bomb is a file of ten megabytes, compressed.
func bomb(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(make([]byte, 10<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// secret enters an agent's token.
func (r *rig) secret(t testing.TB, agent, at, token string) {
	t.Helper()
	r.api(t, "PUT", "/agent-tokens/"+url.PathEscape(agent), fmt.Sprintf(`{"url":%q,"token":%q,"header":"X-Agent-Token"}`, at, token), 200)
}
