package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/redis/go-redis/v9"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// playing is the variable that makes this program an agent that is a command: it
// names the file to which the agent writes what it is told.
const playing = "CHAIN_AGENT_WRITES"

// play is that agent.
func play(file string) int {
	s := mcp.NewServer(&mcp.Implementation{Name: "command", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "agent.receiveFeedback", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintf(f, "%s\n", r.Params.Arguments)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, err
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// A registration that has only a command reaches a command that the operator set
// up for that agent, and no other agent reaches it.
func TestACommandOfTheOperator(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	canary, written := filepath.Join(dir, "canary"), filepath.Join(dir, "written")
	command := fmt.Sprintf(`data:,{"services":[{"name":"MCP","transport":"stdio","server":"mine","command":"touch","args":[%q]}]}`, canary)
	e := anvil(t)
	e.install(t, map[int64]string{42: command, 43: command})
	r := start(t, e, 0, fmt.Sprintf("    servers: {\"42\": mine}\nservers:\n  mine:\n    command: [%q]\n    env: {%s: %q}\n", self, playing, written))
	r.trigger(t, "chain-feedback", nil)
	for id := 42; id <= 43; id++ {
		e.emit(t, reputationRegistry, newFeedback, id, client, id, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	for id, state := range map[int]string{42: "done", 43: "dead"} {
		poll.Until(t, fmt.Sprintf("the delivery for %d is %s", id, state), patience, func() bool {
			all := r.deliveries(t, id)
			return len(all) == 1 && all[0]["state"] == state
		})
	}
	if text, err := os.ReadFile(written); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"feedbackIndex":42`) {
		t.Errorf("the operator's command was told %q, %v", text, err)
	}
	if why := fmt.Sprint(r.deliveries(t, 43)[0]["error"]); !strings.Contains(why, "never run") {
		t.Error(why)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a command of a registration was run")
	}
	if n := len(r.found(t, 42)) + len(r.found(t, 43)); n != 0 {
		t.Errorf("%d servers were made of commands", n)
	}
	for _, one := range r.api(t, "GET", "/chains/agents", "", 200)["items"].([]any) {
		if got := one.(map[string]any); got["agent"] == agentName(42) && got["server"] != "mine" {
			t.Errorf("the agent's server is %v", got["server"])
		}
	}
}

// A job of another system says that the agent's endpoint is to be looked up: it
// names the agent in parts, its file is proved, and its token goes along.
func TestJobsOfARedisFindTheirAgent(t *testing.T) {
	a, e := newAgent(t), anvil(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 0, "")
	addr := program.Redis(t)
	jobs := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = jobs.Close() })
	r.api(t, "POST", "/sources", fmt.Sprintf(`{"id":"jobs","style":"redis","secret":"redis://%s"}`, addr), 201)
	r.secret(t, agentName(42), a.url, "s3cret-of-42")
	file := []byte(`{"agentId":42,"comment":"well done"}`)
	uri := r.gateway.put(t, "raw", file)
	push := func(job string, agent any, hash erc8004.Word) {
		t.Helper()
		text, err := json.Marshal(map[string]any{
			"id": job, "trigger_id": "t", "event_id": "e-" + job, "action_type": "mcp", "priority": 1, "created_at": "2026-01-01T00:00:00Z",
			"event_data": map[string]any{
				"event_type": "NewFeedback", "agent_id": agent, "chain_id": 31337, "registry": identityRegistry.String(), "score": 80, "file_uri": uri, "file_hash": hash.String(), "client_address": client.String(),
			},
			"config": map[string]any{
				"tool_name": "agent.receiveFeedback", "resolve_endpoint": true, "include_file_content": true, "verify_file_hash": true,
				"payload_template": map[string]any{"score": "{{score}}", "job": job, "clientAddress": "{{client_address}}"},
			},
		})
		if err == nil {
			err = jobs.LPush(t.Context(), "action_jobs", text).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push("first", 42, erc8004.Keccak(file))
	poll.Until(t, "the job's call", patience, func() bool { return len(a.got()) == 1 })
	got := a.got()[0].Arguments
	if content, _ := got["fileContent"].(map[string]any); got["job"] != "first" || fmt.Sprint(got["score"]) != "80" || content["comment"] != "well done" {
		t.Errorf("%+v", got)
	}
	if got := a.tokens("X-Agent-Token"); len(got) != 1 || got[0] != "s3cret-of-42" {
		t.Errorf("the token is %q", got)
	}
	if s := r.found(t, 42); len(s) != 1 || s[0]["url"] != a.url {
		t.Errorf("its server is %v", s)
	}
	// A file that is not the one that was meant, and an agent that is not there.
	push("wrong", 42, erc8004.Keccak([]byte("another")))
	push("nobody", 99, erc8004.Keccak(file))
	for agent, says := range map[string]string{"42": "expected keccak256", "99": "cannot read the registration address"} {
		poll.Until(t, says, patience, func() bool {
			for _, one := range r.api(t, "GET", "/deliveries?agent="+agent, "", 200)["items"].([]any) {
				if strings.Contains(fmt.Sprint(one.(map[string]any)["error"]), says) {
					return true
				}
			}
			return false
		})
	}
	// The token is the agent's on its chain, whatever a job calls it.
	e.emit(t, identityRegistry, transfer, client, erc8004.Address{0xee}, 42)
	poll.Until(t, "the transfer was read", patience, func() bool {
		return len(r.api(t, "GET", "/chains/events?state=counted", "", 200)["items"].([]any)) == 1
	})
	a.mu.Lock()
	a.heard = nil
	a.mu.Unlock()
	push("after", 42, erc8004.Keccak(file))
	poll.Until(t, "it is held", patience, func() bool {
		for _, one := range r.api(t, "GET", "/deliveries?agent=42&state=held", "", 200)["items"].([]any) {
			if strings.Contains(fmt.Sprint(one.(map[string]any)["error"]), "transferred") {
				return true
			}
		}
		return false
	})
	if a.heardOf("s3cret") {
		t.Error("the token of the former owner was sent")
	}
}
