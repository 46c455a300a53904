package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// told is what test/node/tasks.mjs prints.
type told struct {
	ID           string
	Asked        []string
	Told         []string
	Related      string
	Statuses     []string
	Support      string
	Error        string
	Listed       []string
	Cancel       any
	Cancelled    string
	Got          struct{ Status, TaskID string }
	Capabilities struct{ Tasks map[string]any }
	Result       struct {
		Content []struct{ Text string }
		IsError bool
	}
}

func runTasks(t *testing.T, endpoint, tool, arguments string) told {
	t.Helper()
	out, err := program.FindNode(t).Run(t, 5*time.Minute, "tasks.mjs", endpoint, testkit.AdminKey, tool, arguments)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all told
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return all
}

// The official client of 2025-11-25 runs tools as tasks: one of the official
// everything-server, of its own era, and of a modern server.
func TestTasksOfALegacyClient(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	i := start(t, nil)
	status, body := operator(t, i, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"everything","transport":"stdio","command":[%q,%q,"stdio"]}`, node.Bin(), node.Module("@modelcontextprotocol/server-everything/dist/index.js")))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"tasks","url":%q}`, upstreams.Tasks(t))); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, c := range []struct{ tool, arguments, support, asked, says string }{
		{"everything__simulate-research-query", `{"topic":"python","ambiguous":true}`, "required", "multiple interpretations", "(snake)"},
		{"tasks__confirm_delete", `{"filename":"x"}`, "optional", "Delete?", "deleted x"},
		{"tasks__slow_compute", `{"seconds":0.3,"label":"l"}`, "optional", "", "computed l"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			got := runTasks(t, i.URL+"/mcp", c.tool, c.arguments)
			if got.Capabilities.Tasks == nil || got.Support != c.support {
				t.Errorf("declared %v, support %q", got.Capabilities.Tasks, got.Support)
			}
			if got.Error != "" || len(got.Result.Content) == 0 || !strings.Contains(got.Result.Content[0].Text, c.says) {
				t.Errorf("result %+v, error %s", got.Result, got.Error)
			}
			if c.asked != "" && (len(got.Asked) == 0 || !strings.Contains(got.Asked[0], c.asked) || got.Related != got.ID) {
				t.Errorf("asked %q about %q", got.Asked, got.Related)
			}
			if got.Got.Status != "completed" || got.Got.TaskID != got.ID || !slices.Contains(got.Listed, got.ID+" completed") {
				t.Errorf("afterwards %+v, listed %q", got.Got, got.Listed)
			}
			if got.Cancel != float64(-32602) || got.Cancelled != "cancelled" {
				t.Errorf("cancelling one that has ended: %v; one that works: %s", got.Cancel, got.Cancelled)
			}
		})
	}
	t.Run("at once", func(t *testing.T) { // the server makes no task of it
		t.Parallel()
		l := &legacy{t: t, i: i, key: testkit.AdminKey}
		l.open(`{}`)
		id := l.created(l.ask("tools/call", `{"name":"tasks__slow_compute","arguments":{"seconds":0},"task":{"ttl":1000}}`))
		if got := l.ask("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(got, `"computed"`) || !strings.Contains(got, `related-task":{"taskId":"`+id) {
			t.Errorf("%s", got)
		}
		if got := l.ask("tasks/get", `{"taskId":"`+id+`"}`); !strings.Contains(got, `"status":"completed"`) || strings.Contains(got, "computed") || !strings.Contains(got, `"ttl":`) {
			t.Errorf("%s", got)
		}
		for _, tool := range []string{"tasks__nothing", "demo__echo"} { // one is not there, one makes no tasks
			if got := l.ask("tools/call", `{"name":"`+tool+`","arguments":{"text":"x"},"task":{}}`); !strings.Contains(got, `"error"`) {
				t.Errorf("%s as a task: %s", tool, got)
			}
		}
		older := &legacy{t: t, i: i, key: testkit.AdminKey, version: "2025-06-18"}
		if got := older.open(`{}`); strings.Contains(got, `"tasks"`) {
			t.Errorf("an older client is told of tasks: %s", got)
		}
		if got := older.ask("tasks/list", `{}`); !strings.Contains(got, "-32601") {
			t.Errorf("%s", got)
		}
	})
}

// legacy is a client of sessions that speaks by hand.
type legacy struct {
	t       *testing.T
	i       *testkit.Instance
	key     string
	version string
	session string
}

func (l *legacy) open(capabilities string) string {
	l.t.Helper()
	if l.version == "" {
		l.version = "2025-11-25"
	}
	r := l.i.Do(l.t, "POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+l.version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"c","version":"1"}}}`, as(l.key), "Accept: application/json, text/event-stream")
	if l.session = r.Header.Get("Mcp-Session-Id"); l.session == "" {
		l.t.Fatalf("%d %s", r.Status, r.Body)
	}
	return r.Body
}

func (l *legacy) ask(method, params string) string {
	l.t.Helper()
	return l.i.Do(l.t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, as(l.key), "Mcp-Session-Id: "+l.session, "Accept: application/json, text/event-stream").Body
}

func (l *legacy) created(body string) string {
	l.t.Helper()
	_, rest, _ := strings.Cut(body, `"taskId":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok || !strings.Contains(body, `"task":{`) {
		l.t.Fatalf("no task: %s", body)
	}
	return id
}

// modernAsk sends a request of 2026-07-28.
func modernAsk(t *testing.T, i *testkit.Instance, key, method, name, params, capabilities string) map[string]any {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, capabilities)
	r := i.Do(t, "POST", "/mcp", body, as(key), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: "+name, "Accept: application/json, text/event-stream")
	var m struct{ Result, Error map[string]any }
	if err := json.Unmarshal([]byte(r.Body), &m); err != nil {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if m.Error != nil {
		return m.Error
	}
	return m.Result
}

const takesTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// A modern client uses the tasks of a legacy server: the tool that runs only so,
// the question that it asks, and its result.
func TestTasksOfALegacyServerForAModernClient(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	i := start(t, nil)
	status, body := operator(t, i, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"everything","transport":"stdio","command":[%q,%q,"stdio"]}`, node.Bin(), node.Module("@modelcontextprotocol/server-everything/dist/index.js")))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	const tool = "everything__simulate-research-query"
	ask := func(method, name, params, capabilities string) map[string]any {
		return modernAsk(t, i, testkit.AdminKey, method, name, params, capabilities)
	}
	const arguments = `"name":"` + tool + `","arguments":{"topic":"python","ambiguous":true},`
	if got := ask("tools/call", tool, arguments, `{"elicitation":{}}`); got["code"] != float64(-32021) {
		t.Errorf("without the extension: %v", got)
	}
	made := ask("tools/call", tool, arguments, takesTasks)
	id, _ := made["taskId"].(string)
	if made["resultType"] != "task" || id == "" || made["ttlMs"] == nil || made["ttl"] != nil || made["task"] != nil {
		t.Fatalf("%v", made)
	}
	if got := ask("tasks/get", id, `"taskId":"`+id+`",`, `{}`); got["code"] != float64(-32021) {
		t.Errorf("tasks/get without the extension: %v", got)
	}
	answered := map[string]bool{}
	var task map[string]any
	poll.Holds(30*time.Second, func() bool {
		task = ask("tasks/get", id, `"taskId":"`+id+`",`, takesTasks)
		if task["taskId"] != id || task["resultType"] != "complete" {
			t.Fatalf("%v", task)
		}
		asks, _ := task["inputRequests"].(map[string]any)
		for key := range asks {
			if answered[key] {
				continue
			}
			answered[key] = true
			if got := ask("tasks/update", id, fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{"interpretation":"snake"}}},`, id, key), takesTasks); got["resultType"] != "complete" {
				t.Errorf("tasks/update: %v", got)
			}
		}
		return task["status"] != "working" && task["status"] != "input_required"
	})
	if task["status"] != "completed" || len(answered) != 1 || !strings.Contains(fmt.Sprint(task["result"]), "(snake)") || strings.Contains(fmt.Sprint(task["result"]), "related-task") {
		t.Errorf("%v; answered %v", task, answered)
	}
	if got := ask("tasks/cancel", id, `"taskId":"`+id+`",`, takesTasks); got["resultType"] != "complete" {
		t.Errorf("cancelling one that has ended: %v", got)
	}
}

// Tasks are their principal's, outlive a restart, and are on record.
func TestTasksAreTheirPrincipals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	i := start(t, testkit.Settings{"data-dir": dir})
	url := upstreams.Tasks(t)
	for _, id := range []string{"tasks", "other"} {
		if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, id, url)); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	mine, theirs := key(t, i, "tools:call"), key(t, i, "tools:call")
	made := modernAsk(t, i, mine, "tools/call", "tasks__confirm_delete", `"name":"tasks__confirm_delete","arguments":{"filename":"f"},`, takesTasks)
	id, _ := made["taskId"].(string)
	if id == "" || strings.Contains(id, "own-task") {
		t.Fatalf("%v", made)
	}
	i.Stop()
	i = start(t, testkit.Settings{"data-dir": dir})
	on := func(who, method, id string) map[string]any {
		params := `"taskId":"` + id + `",`
		if method == "tasks/update" {
			params += `"inputResponses":{"confirm":{"action":"decline"}},`
		}
		return modernAsk(t, i, who, method, id, params, takesTasks)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, wrong := range []struct{ who, id string }{{theirs, id}, {mine, "own-task-1"}, {mine, "nothing"}} {
			if got := on(wrong.who, method, wrong.id); got["code"] != float64(-32602) {
				t.Errorf("%s of another: %v", method, got)
			}
		}
	}
	// The view of another server does not have it, that of its own does.
	for _, view := range []struct {
		server string
		there  bool
	}{{"other", false}, {"tasks", true}} {
		r := i.Do(t, "POST", "/mcp/s/"+view.server, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"`+id+`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+takesTasks+`}}}`,
			as(mine), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tasks/get", "Mcp-Name: "+id, "Accept: application/json, text/event-stream")
		if strings.Contains(r.Body, `"status":"input_required"`) != view.there {
			t.Errorf("%s: %s", view.server, r.Body)
		}
	}
	if got := on(mine, "tasks/get", id); got["status"] != "input_required" {
		t.Errorf("after a restart: %v", got)
	}
	if got := on(mine, "tasks/update", id); got["resultType"] != "complete" {
		t.Errorf("%v", got)
	}
	if got := on(mine, "tasks/get", id); got["status"] != "completed" || !strings.Contains(fmt.Sprint(got["result"]), "decline") {
		t.Errorf("%v", got)
	}
	listed := func(who string) string {
		l := &legacy{t: t, i: i, key: who}
		l.open(`{}`)
		return l.ask("tasks/list", `{}`)
	}
	if got := listed(mine); !strings.Contains(got, `"taskId":"`+id+`"`) || !strings.Contains(got, `"status":"completed"`) {
		t.Errorf("listed: %s", got)
	}
	if got := listed(theirs); !strings.Contains(got, `"tasks":[]`) {
		t.Errorf("listed to another: %s", got)
	}
	calls := i.Do(t, "GET", "/api/v1/calls?limit=100", "").Body
	for _, kind := range []string{"task", "task-update", "task-cancel"} {
		if !strings.Contains(calls, `"kind":"`+kind+`"`) {
			t.Errorf("no record of %s: %s", kind, calls)
		}
	}
	// With its server it is gone.
	i.Do(t, "DELETE", "/api/v1/servers/tasks", "")
	if got := on(mine, "tasks/get", id); got["code"] != float64(-32602) {
		t.Errorf("of a server that was removed: %v", got)
	}
}
