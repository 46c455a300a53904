package replicas

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// playing is what the first argument of this test program begins with where it is
// to be a server on standard input and output.
const playing = "play-server-"

// play is a server of the legacy era on standard input and output: it counts its
// calls, says which process it is, and asks its client something.
func play() int {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	calls, asked := 0, json.RawMessage(nil) // the call that waits for its client's answer
	answer := func(id json.RawMessage, text string, failed bool) {
		_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "isError": failed}})
	}
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name string
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			Result struct{ Action string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		switch {
		case m.Method == "initialize":
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]string{"name": "counting", "version": "1"},
			}})
		case m.Method == "tools/list":
			var tools []any
			for _, name := range []string{"count", "ask", "fail"} {
				tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]string{"type": "object"}})
			}
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"tools": tools}})
		case m.Method == "tools/call" && m.Params.Name == "count":
			calls++
			if token := m.Params.Meta.ProgressToken; token != nil {
				_ = out.Encode(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{"progressToken": token, "progress": 1, "message": "counted"}})
			}
			answer(m.ID, fmt.Sprintf("pid=%d calls=%d", os.Getpid(), calls), false)
		case m.Method == "tools/call" && m.Params.Name == "ask":
			asked = m.ID
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": map[string]any{"message": "?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}})
		case m.Method == "tools/call":
			answer(m.ID, "on purpose", true)
		case m.Method == "" && m.Result.Action != "":
			answer(asked, "it was said: "+m.Result.Action, false)
		case m.Method != "" && m.ID != nil:
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown method"}})
		}
	}
	return 0
}

// players are the processes that play under a name.
func players(t *testing.T, name string) (pids []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Skip("processes cannot be counted here")
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
		if err == nil && exe == self && slices.Contains(strings.Split(string(text), "\x00"), name) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// addPlayer adds the server that plays at one replica, and waits for it at all.
func (c *cluster) addPlayer(id, home, name string) {
	c.Helper()
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	c.replicas[0].Add(c, id, "--home", home, "--", self, name)
	c.offered(id)
}

// offered waits until each replica offers what a server of addPlayer has.
func (c *cluster) offered(id string) {
	c.Helper()
	c.all("the server is there", func(in *program.Instance) bool {
		a, err := in.Request(c.Context(), "POST", "/mcp/s/"+id, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return err == nil && strings.Contains(a.Body, `"count"`) && strings.Contains(a.Body, `"ask"`)
	})
}

// count calls the server at a replica, and gives the process that answered.
func count(t *testing.T, in *program.Instance, id string) (pid string, calls int, answer string) {
	t.Helper()
	a, err := in.Request(t.Context(), "POST", "/mcp/s/"+id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{}}}`)
	if err != nil {
		return "", 0, err.Error()
	}
	_, rest, found := strings.Cut(a.Body, "pid=")
	pid, rest, _ = strings.Cut(rest, " calls=")
	if !found {
		return "", 0, a.Body
	}
	n, _ := strconv.Atoi(rest[:max(0, strings.IndexByte(rest, '"'))])
	return pid, n, a.Body
}

// inTurn calls the server at each replica in turn, and says whether all calls were
// one process's, one after the other, and whose.
func (c *cluster) inTurn(id string, calls int) (pid string, ok bool) {
	c.Helper()
	first := 0
	for n := range calls {
		got, number, answer := count(c.T, c.replicas[n%len(c.replicas)], id)
		if n == 0 {
			pid, first = got, number
		}
		if got == "" || got != pid || number != first+n {
			c.Logf("call %d: %s, and the first was call %d of process %s", n, answer, first, pid)
			return "", false
		}
	}
	return pid, true
}

// TestOneHome has a server whose command runs on one replica: all of them call the
// one process, and what a call says and asks comes through. When its replica is
// killed, another starts it, and calls at the others find that.
func TestOneHome(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	name := playing + rand.Text()
	c.addPlayer("counting", "one", name)
	first := ""
	c.until("all replicas call one process", func() (ok bool) {
		first, ok = c.inTurn("counting", 9)
		return ok
	})
	c.until("that is the only one", func() bool { return slices.Equal(players(t, name), []string{first}) })

	// What a call says while it runs, and what it asks, comes through.
	s := c.session("/mcp/s/counting", `{"elicitation":{}}`)
	for n := range 3 {
		call := s.open("POST", s.path, fmt.Sprintf(`{"jsonrpc":"2.0","id":"count-%d","method":"tools/call","params":{"name":"count","arguments":{},"_meta":{"progressToken":"p"}}}`, n), s.header...)
		call.find(`"counted"`)
		call.find(`"result"`)
		call.close()
		call = s.open("POST", s.path, fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":"tools/call","params":{"name":"ask","arguments":{}}}`, n), s.header...)
		var question struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(call.find("elicitation/create").data), &question); err != nil {
			t.Fatal(err)
		}
		s.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, question.ID))
		call.find("it was said: decline")
		call.close()
	}
	if got := s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail","arguments":{}}}`); !strings.Contains(got, "on purpose") {
		t.Errorf("a call that fails: %s", got)
	}

	// Nobody else is served by that endpoint.
	if a, err := c.replicas[0].Request(t.Context(), "POST", "/replica/request", "anything"); err != nil || a.Status != 404 {
		t.Errorf("what nobody sealed: %d %s %v", a.Status, a.Body, err)
	}

	// The home is killed: its processes go with it, and another replica has one.
	home := c.homeOf("counting")
	c.kill(home)
	begun := time.Now()
	second := ""
	c.until("another replica is the home", func() bool {
		second = ""
		for n, in := range c.replicas {
			if c.dead[n] {
				continue
			}
			pid, _, answer := count(t, in, "counting")
			if pid == "" {
				t.Logf("replica %d: %s", n, answer)
			}
			if pid == "" || second != "" && pid != second {
				return false
			}
			second = pid
		}
		return true
	})
	t.Logf("figure: a server that runs on one replica answers at the others %d ms after its home was killed", time.Since(begun).Milliseconds())
	if second == first {
		t.Errorf("the process %s of a replica that was killed answers", first)
	}
	c.until("one process is left", func() bool { return slices.Equal(players(t, name), []string{second}) })
	if now := c.homeOf("counting"); now == home {
		t.Errorf("replica %d, which was killed, is the home", now)
	}

	// One that is told to end lets go at once: the last is the home, with one process.
	last := c.homeOf("counting")
	c.leave(last)
	c.replicas[last].Stop(t, patience)
	c.until("the last replica is the home", func() bool {
		for n, in := range c.replicas {
			if !c.dead[n] {
				pid, _, _ := count(t, in, "counting")
				return pid != "" && pid != second && slices.Equal(players(t, name), []string{pid})
			}
		}
		return false
	})
}

// TestHomeOnEach has a server whose command runs on every replica.
func TestHomeOnEach(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	name := playing + rand.Text()
	c.addPlayer("counting", "each", name)
	var seen []string
	for range 2 {
		for _, in := range c.replicas {
			pid, _, answer := count(t, in, "counting")
			if pid == "" {
				t.Fatal(answer)
			}
			if !slices.Contains(seen, pid) {
				seen = append(seen, pid)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("three replicas have the processes %q", seen)
	}
	slices.Sort(seen)
	pids := players(t, name)
	slices.Sort(pids)
	if !slices.Equal(pids, seen) {
		t.Errorf("processes %q run, and %q answer", pids, seen)
	}
}

// homeOf is the replica that runs a server.
func (c *cluster) homeOf(server string) int {
	c.Helper()
	var at string
	err := c.query(`SELECT n.url FROM homes h JOIN replicas n ON n.id = h.replica WHERE h.name = $1`, "server:"+server).Scan(&at)
	if err != nil {
		c.Fatalf("%s has no home: %v", server, err)
	}
	return c.replica(at)
}
