package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// taskServers declares servers that make tasks: the official one over stdio and over
// HTTP, and a modern one.
func taskServers(t *testing.T) string {
	t.Helper()
	node := program.FindNode(t)
	everything := node.Module("@modelcontextprotocol/server-everything/dist/index.js")
	addr := program.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	program.Serve(t, addr, []string{"PORT=" + port}, node.Bin(), everything, "streamableHttp")
	return fmt.Sprintf("servers:\n  pipe:\n    transport: stdio\n    command: [%q, %q, stdio]\n  http:\n    url: http://%s/mcp\n  tasks:\n    url: %s\n",
		node.Bin(), everything, addr, upstreams.Tasks(t))
}

// untilKnown waits for the servers of taskServers: what is declared is heard of in
// its own time.
func untilKnown(t *testing.T, i *testkit.Instance) {
	t.Helper()
	poll.Until(t, "the tools of all three servers", time.Minute, func() bool {
		tools := i.Do(t, "GET", "/mcp/tools", "").Body
		return strings.Contains(tools, `"pipe__simulate`) && strings.Contains(tools, `"http__simulate`) && strings.Contains(tools, `"tasks__slow`)
	})
}

// stdioEndpoint is the command of an endpoint over stdio, with servers that are known: what
// is declared is not waited for.
func stdioEndpoint(t *testing.T, file *settings) []string {
	t.Helper()
	dir := t.TempDir()
	i := start(t, testkit.Settings{"config": file.path, "data-dir": dir})
	untilKnown(t, i)
	i.Stop()
	return []string{program.Binary(t), "stdio", "--data-dir", dir, "--config", file.path, "--egress-allow", "127.0.0.0/8"}
}

// What servers of both eras tell of tasks reaches the official client of
// 2025-11-25, through every endpoint that carries notes.
func TestLegacyClientsHearOfTasks(t *testing.T) {
	t.Parallel()
	file := newSettings(t, taskServers(t))
	i := start(t, testkit.Settings{"config": file.path})
	untilKnown(t, i)
	stdio := func(t *testing.T) string {
		t.Helper()
		command, _ := json.Marshal(stdioEndpoint(t, file))
		return string(command)
	}
	for name, endpoint := range map[string]func(t *testing.T) string{
		"Streamable HTTP": func(*testing.T) string { return i.URL + "/mcp" }, "HTTP+SSE": func(*testing.T) string { return i.URL + "/sse" }, "stdio": stdio,
	} {
		for tool, arguments := range map[string]string{
			"pipe__simulate-research-query": `{"topic":"python","ambiguous":true}`,
			"http__simulate-research-query": `{"topic":"python","ambiguous":true}`,
			"tasks__slow_compute":           `{"seconds":1,"label":"l"}`,
		} {
			t.Run(name+" "+tool, func(t *testing.T) {
				t.Parallel()
				got := runTasks(t, endpoint(t), tool, arguments)
				if got.Error != "" || len(got.Result.Content) == 0 {
					t.Fatalf("result %+v, error %s", got.Result, got.Error)
				}
				if n := len(slices.DeleteFunc(slices.Clone(got.Told), func(s string) bool { return s != got.ID+" completed" })); n != 1 {
					t.Errorf("told of its end %d times: %q", n, got.Told)
				}
				if strings.HasSuffix(tool, "query") && !slices.Contains(got.Told, got.ID+" input_required") {
					t.Errorf("not told of its question: %q", got.Told)
				}
			})
		}
	}
}

// ear reads the notes of a modern client that listens for tasks.
type ear struct {
	t     *testing.T
	lines chan string
}

// listenFor listens at an endpoint over HTTP.
func listenFor(t *testing.T, i *testkit.Instance, key, endpoint, capabilities string, ids ...string) *ear {
	t.Helper()
	list, _ := json.Marshal(ids)
	ctx, cancel := context.WithCancel(t.Context())
	resp := i.Open(ctx, t, "POST", endpoint, listenRequest(1, string(list), capabilities), as(key),
		"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen", "Accept: application/json, text/event-stream")
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	return read(t, resp.Body)
}

func listenRequest(id int, ids, capabilities string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"taskIds":%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, id, ids, capabilities)
}

// read gives what comes line by line.
func read(t *testing.T, r io.Reader) *ear {
	t.Helper()
	e := &ear{t: t, lines: make(chan string, 256)}
	go func() {
		defer close(e.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			if _, text, _ := strings.Cut(s.Text(), "{"); text != "" {
				e.lines <- "{" + text
			}
		}
	}()
	return e
}

// message is a note, or an answer.
type message struct {
	ID     int
	Method string
	Params struct {
		TaskID, Status string
		Result         map[string]any
		InputRequests  map[string]any
		Notifications  struct{ TaskIDs []string }
		Meta           map[string]any `json:"_meta"`
	}
	Result struct{ TaskID string }
	Error  struct{ Code int }
}

// next gives the next message that is wanted.
func (e *ear) next(what string, wanted func(message) bool) message {
	e.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, more := <-e.lines:
			var m message
			if !more || json.Unmarshal([]byte(line), &m) != nil {
				e.t.Fatalf("%s: no more than %s", what, line)
			}
			if wanted(m) {
				return m
			}
		case <-late:
			e.t.Fatalf("%s was not heard", what)
		}
	}
}

func (e *ear) granted() []string {
	e.t.Helper()
	return e.next("the acknowledgement", func(m message) bool { return m.Method == "notifications/subscriptions/acknowledged" }).Params.Notifications.TaskIDs
}

func (e *ear) hears(id, status string) message {
	e.t.Helper()
	return e.next(status, func(m message) bool {
		return m.Method == "notifications/tasks" && m.Params.TaskID == id && m.Params.Status == status
	})
}

// Modern clients hear of the tasks that they name, of servers of both eras, and what
// they hear is what tasks/get would say.
func TestModernClientsHearOfTasks(t *testing.T) {
	t.Parallel()
	i := start(t, testkit.Settings{"config": newSettings(t, taskServers(t)).path})
	untilKnown(t, i)
	mine, theirs := key(t, i, "tools:call"), key(t, i, "tools:call")
	for server, c := range map[string]struct{ tool, arguments, answer, says string }{
		"pipe":  {"simulate-research-query", `{"topic":"python","ambiguous":true}`, `{"interpretation":"snake"}`, "(snake)"},
		"http":  {"simulate-research-query", `{"topic":"python","ambiguous":true}`, `{"interpretation":"snake"}`, "(snake)"},
		"tasks": {"confirm_delete", `{"filename":"f"}`, `{"answer":"yes"}`, "deleted f"},
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			tool := server + "__" + c.tool
			made := modernAsk(t, i, mine, "tools/call", tool, `"name":"`+tool+`","arguments":`+c.arguments+`,`, takesTasks)
			id, _ := made["taskId"].(string)
			if made["resultType"] != "task" || id == "" {
				t.Fatalf("%v", made)
			}
			ears := map[string]*ear{}
			for _, endpoint := range []string{"/mcp", "/mcp/s/" + server} {
				e := listenFor(t, i, mine, endpoint, takesTasks, id, "nothing")
				if got := e.granted(); !slices.Equal(got, []string{id}) {
					t.Fatalf("%s granted %q", endpoint, got)
				}
				ears[endpoint] = e
			}
			if got := listenFor(t, i, theirs, "/mcp", takesTasks, id).granted(); len(got) != 0 {
				t.Errorf("another was granted %q", got)
			}
			if got := listenFor(t, i, mine, "/mcp", `{}`, id).next("the refusal", func(m message) bool { return m.ID == 1 }); got.Error.Code != -32021 {
				t.Errorf("without the extension: %+v", got)
			}
			var task map[string]any
			poll.Until(t, "the task's question", time.Minute, func() bool {
				task = modernAsk(t, i, mine, "tasks/get", id, `"taskId":"`+id+`",`, takesTasks)
				asks, _ := task["inputRequests"].(map[string]any)
				return len(asks) == 1
			})
			for k := range task["inputRequests"].(map[string]any) {
				modernAsk(t, i, mine, "tasks/update", id, fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":%s}},`, id, k, c.answer), takesTasks)
			}
			for endpoint, e := range ears {
				end := e.hears(id, "completed")
				if !strings.Contains(fmt.Sprint(end.Params.Result), c.says) || end.Params.Meta["io.modelcontextprotocol/subscriptionId"] != float64(1) {
					t.Errorf("%s: %+v", endpoint, end.Params)
				}
			}
		})
	}
}

// The same over stdio, where everything comes on one stream.
func TestTaskChangesArriveOverStdio(t *testing.T) {
	t.Parallel()
	endpoint := stdioEndpoint(t, newSettings(t, taskServers(t)))
	cmd := exec.CommandContext(t.Context(), endpoint[0], endpoint[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	e := read(t, out)
	say := func(text string) { _, _ = io.WriteString(in, text+"\n") }
	for n, tool := range []string{"pipe__simulate-research-query", "http__simulate-research-query", "tasks__slow_compute"} {
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"topic":"go","seconds":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, 10+n, tool, takesTasks))
		id := e.next("the task", func(m message) bool { return m.ID == 10+n }).Result.TaskID
		say(listenRequest(20+n, `["`+id+`"]`, takesTasks))
		if got := e.granted(); !slices.Equal(got, []string{id}) {
			t.Fatalf("%s: granted %q", tool, got)
		}
		if end := e.hears(id, "completed"); len(end.Params.Result) == 0 || end.Params.Meta["io.modelcontextprotocol/subscriptionId"] != float64(20+n) {
			t.Errorf("%s: %+v", tool, end.Params)
		}
	}
}
