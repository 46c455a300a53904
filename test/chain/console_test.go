package chain

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

var shots = flag.String("shots", "", "take pictures of the screens into this folder")

// Chains, the agents on them and the files of deliveries, in the console.
func TestInTheConsole(t *testing.T) {
	program.NeedChromium(t)
	a, e := newAgent(t), anvil(t)
	blocked := fmt.Sprintf(`data:application/json,{"name":"agent 43","services":[{"name":"MCP","command":"touch","args":["x"]}],"registrations":[{"agentId":43,"agentRegistry":"eip155:31337:%s"}]}`, identityRegistry)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url)), 43: blocked})
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	file := []byte(`{"agentId":42,"comment":"well done"}`)
	uri := r.gateway.put(t, "raw", file)
	e.emit(t, reputationRegistry, newFeedback, 42, client, 1, 80, 0, "starred", "starred", "", "", uri, erc8004.Keccak(file))
	poll.Until(t, "the first", patience, func() bool { return len(a.got()) == 1 })
	e.emit(t, reputationRegistry, newFeedback, 42, client, 2, 80, 0, "starred", "starred", "", "", uri, erc8004.Keccak([]byte("another")))
	e.emit(t, reputationRegistry, newFeedback, 43, client, 1, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	ended := func(id int, state string) (found string) {
		poll.Until(t, fmt.Sprint(id, " ", state), patience, func() bool {
			for _, d := range r.deliveries(t, id) {
				if d["state"] == state {
					found = d["id"].(string)
				}
			}
			return found != ""
		})
		return found
	}
	proved, refused := ended(42, "done"), ended(42, "dead")
	ended(43, "dead")
	if _, stderr, code := r.Operate(t, "user", "add", "ada", "--role", "admin"); code != 0 {
		t.Fatal(stderr)
	}
	link, stderr, code := r.Operate(t, "login", "--user", "ada")
	if code != 0 {
		t.Fatal(stderr)
	}
	args := []string{strings.TrimSpace(link), agentName(42), agentName(43), proved, refused}
	if *shots != "" {
		args = append(args, *shots)
	}
	out, err := program.FindNode(t).Run(t, 6*time.Minute, "chains.mjs", args...)
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
