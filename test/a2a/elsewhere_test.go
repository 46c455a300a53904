package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// local lets an instance reach others on this machine.
var local = []string{"--egress-allow", "127.0.0.0/8"}

// adopt adds an agent elsewhere as one of the instance's own.
func (i *instance) adopt(name, url, key, more string) {
	i.Helper()
	if key != "" {
		key = fmt.Sprintf(`,"key":%q`, key)
	}
	i.request(201, "POST", "/api/v1/models", fmt.Sprintf(`{"name":%q,"kind":"a2a","base_url":%q%s}`, name, url, key))
	i.request(201, "POST", "/api/v1/agents", fmt.Sprintf(`{"name":%q,"brain":{"model":%q}%s}`, name, name, more))
}

// room makes a room of agents.
func (i *instance) room(agents ...string) (id string) {
	i.Helper()
	members := `{"agent":"` + strings.Join(agents, `"},{"agent":"`) + `"}`
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(i.request(201, "POST", "/api/v1/rooms", `{"name":"Den","policy":"router","members":[`+members+`]}`)), &made); err != nil {
		i.Fatal(err)
	}
	return made.ID
}

// sendMessage says something in a room, and gives what came of it.
func (i *instance) sendMessage(room, run, text string) string {
	i.Helper()
	return i.request(200, "POST", "/api/v1/rooms/"+room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":"m-%s","role":"user","content":%q}]}`, room, run, run, text))
}

// roomText are the last message of a room.
func (i *instance) roomText(room string) string {
	i.Helper()
	var page struct {
		Items []struct{ Text, Outcome string }
	}
	if err := json.Unmarshal([]byte(i.request(200, "GET", "/api/v1/rooms/"+room+"/messages?sort=at", "")), &page); err != nil || len(page.Items) == 0 {
		i.Fatalf("%v: %+v", err, page)
	}
	return page.Items[len(page.Items)-1].Text
}

// An instance has another's agent in its rooms.
func TestAgentOfAnotherInstance(t *testing.T) {
	there := start(t, t.TempDir())
	there.request(201, "POST", "/api/v1/agents", adder)
	here := start(t, t.TempDir(), local...)
	here.adopt("adder", there.URL+"/a2a/adder/", program.AdminKey, "")
	if out := here.request(200, "POST", "/api/v1/models/adder/test", ""); !strings.Contains(out, "Give me two numbers.") {
		t.Errorf("tested: %s", out)
	}
	room := here.room("adder")
	if out := here.sendMessage(room, "r1", "what are 2 and 40?"); here.roomText(room) != "It is 42." {
		t.Errorf("%s", out)
	}
	here.sendMessage(room, "r2", "what are 5 and 6?")
	tasks := func() (list []struct {
		ContextID string
		Status    struct{ State string }
	},
	) {
		t.Helper()
		var page struct {
			Tasks []struct {
				ContextID string
				Status    struct{ State string }
			}
		}
		if err := json.Unmarshal([]byte(there.request(200, "GET", "/a2a/adder/rest/tasks?A2A-Version=1.0", "")), &page); err != nil {
			t.Fatal(err)
		}
		return page.Tasks
	}
	if list := tasks(); here.roomText(room) != "It is 11." || len(list) != 3 || list[0].ContextID != list[1].ContextID || list[1].ContextID == list[2].ContextID {
		t.Errorf("%s, %+v", here.roomText(room), list)
	}

	// Who stops the run stops the task.
	ended := make(chan string, 1)
	go func() {
		a, err := here.Request(t.Context(), "POST", "/api/v1/rooms/"+room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"r3","messages":[{"id":"m-r3","role":"user","content":"take your time"}]}`, room))
		ended <- fmt.Sprint(a.Status, err, a.Body)
	}()
	poll.Until(t, "the task works", 90*time.Second, func() bool { list := tasks(); return len(list) == 4 && list[0].Status.State == "TASK_STATE_WORKING" })
	here.request(204, "POST", "/api/v1/rooms/"+room+"/runs/r3/stop", "")
	select {
	case out := <-ended:
		if !strings.Contains(out, "cancelled") {
			t.Errorf("stopped: %s", out)
		}
	case <-time.After(90 * time.Second):
		t.Fatal("the run goes on")
	}
	poll.Until(t, "the task is cancelled", 90*time.Second, func() bool { return tasks()[0].Status.State == "TASK_STATE_CANCELED" })

	// Without a word from the operator nothing on this machine is reached, unless only this
	// machine reaches the instance. A proxy leads others to it.
	shut := start(t, t.TempDir(), "--trusted-proxy", "192.0.2.1")
	shut.adopt("adder", there.URL+"/a2a/adder/", program.AdminKey, "")
	if out := shut.request(200, "POST", "/api/v1/models/adder/test", ""); !strings.Contains(out, `"ok":false`) || !strings.Contains(out, "is not allowed") {
		t.Errorf("reached: %s", out)
	}
}

// Agents on the official server are spoken to on three wires.
func TestAgentOnTheOfficialServer(t *testing.T) {
	node := program.FindNode(t)
	addr := program.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	program.Serve(t, addr, nil, node.Bin(), node.Script(t, "a2a_server.mjs"), port)
	here := start(t, t.TempDir(), local...)
	for _, name := range []string{"new", "rest", "old"} {
		here.adopt(name, "http://"+addr+"/"+name, "", `,"published":true`)
		if out := here.request(200, "POST", "/api/v1/tools/agents__"+name+"/call", `{"arguments":{"message":"hello"}}`); !strings.Contains(out, "Heard hello in ") {
			t.Errorf("%s, as a tool: %s", name, out)
		}
		room := here.room(name)
		here.sendMessage(room, "1"+name, "hello")
		first, found := strings.CutPrefix(here.roomText(room), "Heard hello in ")
		if !found || first == "" {
			t.Fatalf("%s: %q", name, here.roomText(room))
		}
		here.sendMessage(room, "2"+name, "book")
		if got := here.roomText(room); got != "For which day?" {
			t.Errorf("%s: %q", name, got)
		}
		here.sendMessage(room, "3"+name, "Monday")
		if got := here.roomText(room); got != "Heard Monday in "+first {
			t.Errorf("%s: %q, the conversation is %s", name, got, first)
		}
	}
}

// A published agent elsewhere is a tool, called through the one pipeline.
func TestRemoteAgentAsATool(t *testing.T) {
	there := start(t, t.TempDir())
	there.request(201, "POST", "/api/v1/agents", adder)
	dir := t.TempDir()
	here := start(t, dir, local...)
	here.request(404, "GET", "/api/v1/servers/agents", "") // nothing is offered before there is one
	here.adopt("sums", there.URL+"/a2a/adder/", program.AdminKey, `,"title":"Somebody who adds","published":true`)
	here.adopt("hidden", there.URL+"/a2a/adder/", program.AdminKey, "")
	const call = `{"arguments":{"message":"what are 2 and 40?"}}`
	if out := here.request(200, "POST", "/api/v1/tools/agents__sums/call", call); !strings.Contains(out, "It is 42.") {
		t.Errorf("%s", out)
	}
	here.request(404, "POST", "/api/v1/tools/agents__hidden/call", call)
	if out := here.request(200, "GET", "/api/v1/calls?server=agents&limit=1", ""); !strings.Contains(out, `"name":"sums"`) || !strings.Contains(out, `"status":"success"`) {
		t.Errorf("on record is %s", out)
	}
	tasks := func() int {
		return strings.Count(there.request(200, "GET", "/a2a/adder/rest/tasks?A2A-Version=1.0", ""), `"contextId"`)
	}
	begun := tasks()

	// Who may not call it does not reach the agent, by whatever endpoint.
	var looks struct{ Key string }
	if err := json.Unmarshal([]byte(here.request(201, "POST", "/api/v1/keys", `{"name":"k","scopes":["tools:read"]}`)), &looks); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/tools/agents__sums/call", "/mcp/request"} {
		body := call
		if path == "/mcp/request" {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agents__sums",` + call[1:] + `}`
		}
		if a, err := here.Request(t.Context(), "POST", path, body, "Authorization: Bearer "+looks.Key); err != nil || strings.Contains(a.Body, "It is 42.") {
			t.Errorf("%s: %d %s %v", path, a.Status, a.Body, err)
		}
	}
	if n := tasks(); n != begun {
		t.Errorf("what was refused became %d tasks", n-begun)
	}

	// An agent uses it where its list says so.
	const clerk = `{"name":%q,"tools":[%q],"brain":{"rules":"intents:\n  - match: '.'\n    calls:\n      - tool: agents__sums\n        arguments: {message: '{{message}}'}\n    say: 'They say: {{result}}'\n    failed: 'no: {{error}}'\nfallback: hm\n"}}`
	for name, list := range map[string]string{"clerk": "agents/sums", "other": "demo/add"} {
		here.request(201, "POST", "/api/v1/agents", fmt.Sprintf(clerk, name, list))
		out := here.request(200, "POST", "/api/v1/agents/"+name+"/runs", `{"message":"what are 5 and 6?"}`)
		if strings.Contains(out, "They say: It is 11.") != (name == "clerk") {
			t.Errorf("%s: %s", name, out)
		}
	}

	// It is there after a restart, and goes with what it is made of.
	here.Stop(t, time.Minute)
	here = start(t, dir, local...)
	if out := here.request(200, "POST", "/api/v1/tools/agents__sums/call", call); !strings.Contains(out, "It is 42.") {
		t.Errorf("after a restart: %s", out)
	}
	there.Kill()
	if out := here.request(200, "POST", "/api/v1/tools/agents__sums/call", call); !strings.Contains(out, `"isError":true`) || strings.Contains(out, program.AdminKey) {
		t.Errorf("while nobody is there: %s", out)
	}
	here.request(200, "PATCH", "/api/v1/agents/sums", `{"published":false}`)
	here.request(404, "POST", "/api/v1/tools/agents__sums/call", call)
	here.request(200, "PATCH", "/api/v1/agents/sums", `{"published":true}`)
	if out := here.request(200, "GET", "/api/v1/tools/agents__sums", ""); !strings.Contains(out, "Somebody who adds") {
		t.Errorf("%s", out)
	}
	here.request(204, "DELETE", "/api/v1/servers/agents", "")
	here.request(404, "POST", "/api/v1/tools/agents__sums/call", call)
	here.request(200, "PATCH", "/api/v1/agents/sums", `{"title":"Again"}`)
	here.request(404, "GET", "/api/v1/servers/agents", "") // what was removed stays away
}
