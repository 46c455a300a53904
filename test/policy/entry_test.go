package policy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// entry is a way to make a call.
type entry struct {
	name    string
	point   junctor.EntryPoint
	parties []string // who makes calls this way, as rules see them
	direct  bool     // who calls receives the answer of the tool, or of the rule
	call    func(s *scene, t rapid.TB, who string, c *policymodel.Call) (answer string)
}

// entries are all ways.
func entries() []entry {
	everybody := []string{"service", "ada", "bob", "cyd", "bot", "helper"}
	withKeys := []string{"service", "ada", "bob", "bot", "helper"} // tokens of providers are for MCP endpoints
	agents := []string{"bot", "helper"}
	over := func(era program.Era) func(*scene, rapid.TB, string, *policymodel.Call) string {
		return func(s *scene, t rapid.TB, who string, c *policymodel.Call) string {
			caller := s.callers[string(era)+who]
			if caller == nil {
				caller = program.NewCaller(s.t, era, s.URL, s.parties[who].token)
				s.callers[string(era)+who] = caller
			}
			a, err := caller.Call(s.t.Context(), c.Server+"__"+c.Name, string(c.Arguments()))
			if err != nil {
				t.Fatalf("%s: %v", era, err)
			}
			return a.Body
		}
	}
	return []entry{
		{"modern", junctor.EntryMCP, everybody, true, over(program.Modern)},
		{"legacy", junctor.EntryMCP, everybody, true, over(program.Legacy)},
		{"plain", junctor.EntryPlain, withKeys, true, over(program.Plain)},
		{"bridge", junctor.EntryBridge, withKeys, true, (*scene).callBridge},
		{"API", junctor.EntryAdmin, []string{"service", "ada", "bob"}, true, (*scene).callAPI},
		{"CLI", junctor.EntryAdmin, []string{"service", "ada"}, true, (*scene).callCLI},
		{"App view", junctor.EntryAppView, []string{"ada", "bob"}, true, (*scene).callView},
		{"room", junctor.EntryTurn, agents, false, (*scene).callRoom},
		{"A2A", junctor.EntryTurn, agents, false, (*scene).callA2A},
		{"trigger", junctor.EntryDelivery, []string{"trigger"}, false, (*scene).callTrigger},
	}
}

func (s *scene) callBridge(t rapid.TB, who string, c *policymodel.Call) string {
	return s.ask(who, "POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q,"arguments":%s}`, c.Server, c.Name, c.Arguments())).Body
}

func (s *scene) callAPI(t rapid.TB, who string, c *policymodel.Call) string {
	return s.ask(who, "POST", "/api/v1/tools/"+c.Server+"__"+c.Name+"/call", fmt.Sprintf(`{"arguments":%s}`, c.Arguments())).Body
}

func (s *scene) callCLI(t rapid.TB, who string, c *policymodel.Call) string {
	in := program.At(s.URL)
	in.DataDir = s.t.TempDir()
	stdout, stderr, _ := in.CLIAs(s.t, s.parties[who].token, "tool", "call", c.Server+"__"+c.Name, "--json", string(c.Arguments()))
	return stdout + stderr
}

func (s *scene) callView(t rapid.TB, who string, c *policymodel.Call) string {
	return s.ask(who, "POST", "/api/v1/views/"+s.views[who+" "+c.Server]+"/rpc", fmt.Sprintf(`{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.Name, c.Arguments())).Body
}

// teach has an agent make a call when it is told to, and returns what to say.
func (s *scene) teach(who string, c *policymodel.Call) string {
	s.t.Helper()
	s.serial++
	text := fmt.Sprintf("please make call %d now", s.serial)
	rules := fmt.Sprintf("intents:\n  - match: '%s'\n    calls:\n      - tool: %s__%s\n        arguments: %s\n    say: 'That was done.'\nfallback: 'Yes?'\n", text, c.Server, c.Name, c.Arguments())
	s.must(http.StatusOK, "service", "PATCH", "/agents/"+who, `{"brain":{"rules":`+encode(rules)+`}}`, nil)
	return text
}

func (s *scene) callRoom(t rapid.TB, who string, c *policymodel.Call) string {
	text := s.teach(who, c)
	run := fmt.Sprintf("run-%d", s.serial)
	r := s.ask("ada", "POST", "/api/v1/rooms/"+s.room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":"m-%s","role":"user","content":%q}]}`, s.room, run, run, "@"+who+" "+text))
	if r.Status != http.StatusOK || !strings.Contains(r.Body, "RUN_FINISHED") {
		t.Fatalf("the run of %s: %d %s", who, r.Status, r.Body)
	}
	return r.Body
}

func (s *scene) callA2A(t rapid.TB, who string, c *policymodel.Call) string {
	text := s.teach(who, c)
	r := s.ask("ada", "POST", "/a2a/"+who, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m-%d","role":"user","parts":[{"kind":"text","text":%q}]},"configuration":{"blocking":true}}}`, s.serial, text))
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"completed"`) && !strings.Contains(r.Body, `"failed"`) {
		t.Fatalf("the task of %s: %d %s", who, r.Status, r.Body)
	}
	return r.Body
}

// callTrigger makes a trigger, has it make the call, and removes it.
func (s *scene) callTrigger(t rapid.TB, _ string, c *policymodel.Call) string {
	s.serial++
	name := fmt.Sprintf("trigger-%d", s.serial)
	s.must(http.StatusCreated, "service", "POST", "/triggers", fmt.Sprintf(`{"name":%q,"match":{"type":%[1]q},"action":{"server":%q,"tool":%q,"attempts":1,"template":%s}}`, name, c.Server, c.Name, c.Arguments()), nil)
	var taken junctor.Taken
	s.must(http.StatusAccepted, "service", "POST", "/events", fmt.Sprintf(`{"type":%q}`, name), &taken)
	if len(taken.Deliveries) != 1 {
		t.Fatalf("%d deliveries", len(taken.Deliveries))
	}
	var last string
	if !poll.Holds(patience, func() bool {
		var d struct {
			State string
			Tried []json.RawMessage
		}
		r := s.ask("service", "GET", "/api/v1/deliveries/"+taken.Deliveries[0], "")
		last = r.Body
		return json.Unmarshal([]byte(r.Body), &d) == nil && (d.State == "done" || d.State == "dead" || d.State == "held")
	}) {
		t.Fatalf("the delivery does not end: %s", last)
	}
	s.must(http.StatusNoContent, "service", "DELETE", "/triggers/"+name, "", nil)
	return last
}
