package chain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// found gives the servers that were made of what was found for an agent.
func (r *rig) found(t testing.TB, id int) (out []map[string]any) {
	t.Helper()
	for _, one := range r.api(t, "GET", "/servers", "", 200)["items"].([]any) {
		s := one.(map[string]any)
		if s["discovered"] == agentName(id) {
			out = append(out, s)
		}
	}
	return out
}

func agentName(id int) string { return fmt.Sprintf("eip155:31337:%s/%d", identityRegistry, id) }

// Each endpoint that is found is a server: what goes there is on record under its
// id, it moves and stops with the registration, can be switched off, and lists
// its tools nowhere.
func TestDiscoveredEndpointsAreServers(t *testing.T) {
	a, b, e := newAgent(t), newAgent(t), anvil(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	told := 0
	tell := func() {
		told++
		e.emit(t, reputationRegistry, newFeedback, 42, client, told, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	changed := func(file string) {
		e.install(t, map[int64]string{42: file})
		e.emit(t, identityRegistry, uriUpdated, 42, "ipfs://new", client)
	}
	is := func(what string, want map[string]string) map[string]any {
		t.Helper()
		var now []map[string]any
		poll.Until(t, what, patience, func() bool {
			now = r.found(t, 42)
			if len(now) != 1 {
				return false
			}
			for key, part := range want {
				if got := fmt.Sprint(now[0][key]); part == "" && now[0][key] != nil || !strings.Contains(got, part) {
					return false
				}
			}
			return true
		})
		return now[0]
	}
	if len(r.found(t, 42)) != 0 {
		t.Fatal("there is a server before anything was found")
	}
	tell()
	poll.Until(t, "the first", patience, func() bool { return len(a.got()) == 1 })
	s := is("its server", map[string]string{"mode": "discovered", "state": "active", "url": a.url, "transport": "http", "title": "agent 42 on local: agent 42", "command": "", "last_error": ""})
	id := s["id"].(string)
	if !strings.HasPrefix(id, "local-42-") {
		t.Errorf("its id is %s", id)
	}
	poll.Until(t, "the call on record", patience, func() bool {
		for _, one := range r.api(t, "GET", "/calls?server="+id, "", 200)["items"].([]any) {
			c := one.(map[string]any)
			if c["name"] == "agent.receiveFeedback" && c["status"] == "success" && c["entry_point"] == "delivery" {
				return true
			}
		}
		return false
	})
	if n := len(r.api(t, "GET", "/calls?server=adhoc", "", 200)["items"].([]any)); n != 0 {
		t.Errorf("%d calls are on record under no server", n)
	}
	if n := len(r.api(t, "GET", "/tools?server="+id, "", 200)["items"].([]any)); n != 0 {
		t.Errorf("%d tools of a stranger are listed", n)
	}
	if a, err := r.Request(t.Context(), "POST", "/api/v1/tools/"+id+"__agent.receiveFeedback/call", `{"arguments":{}}`); err != nil || a.Status < 400 {
		t.Errorf("a stranger's tool was called by name: %+v, %v", a, err)
	}
	if stdout, stderr, code := r.CLI(t, "server", "ls"); code != 0 || !strings.Contains(stdout, id) || !strings.Contains(stdout, agentName(42)) {
		t.Errorf("server ls: %d %s %s", code, stdout, stderr)
	}
	if stdout, stderr, code := r.CLI(t, "export"); code != 0 || strings.Contains(stdout, id) {
		t.Errorf("export: %d %s %s", code, stdout, stderr)
	}
	if got := r.api(t, "GET", "/chains/agents", "", 200)["items"].([]any)[0].(map[string]any); got["server"] != id {
		t.Errorf("the agent's server is %v", got["server"])
	}

	// It goes with the registration, without a delivery.
	changed(registration(42, mcpAt(b.url)))
	is("it has moved", map[string]string{"id": id, "state": "active", "url": b.url})
	changed(`data:,{"active":false}`)
	is("it is suspended", map[string]string{"id": id, "state": "error", "last_error": "not active"})
	changed(`data:,{"services":[{"name":"MCP","command":"touch","args":["x"]}]}`)
	is("a command makes no server of it", map[string]string{"id": id, "state": "error", "last_error": "never run", "command": ""})
	changed(registration(42, mcpAt(a.url)))
	is("it is back", map[string]string{"id": id, "state": "active", "url": a.url, "last_error": ""})

	// Switched off it is left alone, whatever its owner does.
	r.api(t, "POST", "/servers/"+id+"/disable", "", 200)
	changed(registration(42, mcpAt(b.url)))
	tell()
	poll.Until(t, "it is held", patience, func() bool {
		return slices.ContainsFunc(r.deliveries(t, 42), func(d map[string]any) bool {
			return d["state"] == "held" && strings.Contains(fmt.Sprint(d["error"]), "is disabled")
		})
	})
	is("it stays off", map[string]string{"id": id, "state": "inactive"})
	r.api(t, "POST", "/servers/"+id+"/enable", "", 200)
	poll.Until(t, "it goes on", patience, func() bool { return len(b.got()) == 1 })

	// An id that somebody else has is left to them.
	r.api(t, "DELETE", "/servers/"+id, "", 204)
	r.api(t, "POST", "/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, id, a.url), 201)
	tell()
	poll.Until(t, "it is told under another id", patience, func() bool { return len(b.got()) == 2 })
	if s := is("another id", map[string]string{"url": b.url}); s["id"] == id {
		t.Errorf("%v", s)
	}
	if s := r.api(t, "GET", "/servers/"+id, "", 200); s["mode"] != "bring-your-own" || s["url"] != a.url {
		t.Errorf("the server of somebody else is %v", s)
	}

	// Nobody's agent has no server.
	e.emit(t, identityRegistry, transfer, client, erc8004.Address{}, 42)
	poll.Until(t, "it is gone", patience, func() bool { return len(r.found(t, 42)) == 0 })
}
