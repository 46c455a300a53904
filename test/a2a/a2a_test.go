// Package a2a meets published agents of a whole instance as agents of others do:
// by the official client in JavaScript, by the command of the Go library, and
// after the instance was killed.
package a2a

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const adder = `{"name":"adder","title":"The adder","published":true,"tools":["demo/add","demo/slow"],"brain":{"rules":"intents:\n  - match: '(?P<a>\\d+) and (?P<b>\\d+)'\n    calls:\n      - tool: demo__add\n        arguments: {a: '{{a|number}}', b: '{{b|number}}'}\n        take: {sum: $.sum}\n    say: 'It is {{sum}}.'\n  - match: 'take your time'\n    calls:\n      - tool: demo__slow\n        arguments: {steps: 50, delay_ms: 1000}\n    say: 'That took long.'\nfallback: 'Give me two numbers.'\n"}}`

// instance is one with a published agent.
type instance struct {
	*testing.T
	*program.Instance
}

func (i *instance) request(want int, method, path, body string) string {
	i.Helper()
	a, err := i.Request(i.Context(), method, path, body)
	if err != nil || a.Status != want {
		i.Fatalf("%s %s: %d, %v\n%s", method, path, a.Status, err, a.Body)
	}
	return a.Body
}

func start(t *testing.T, dir string, flags ...string) *instance {
	t.Helper()
	return &instance{T: t, Instance: program.Start(t, program.FreeAddr(t), dir, flags...)}
}

// The official client in JavaScript talks to an agent on three wires.
func TestOfficialClient(t *testing.T) {
	node := program.FindNode(t)
	i := start(t, t.TempDir())
	i.request(201, "POST", "/api/v1/agents", adder)
	out, err := node.Run(t, 3*time.Minute, "a2a.mjs", i.URL+"/a2a/adder/", program.AdminKey)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, wire := range []string{"JSON-RPC 1.0", "HTTP+JSON 1.0", "JSON-RPC 0.3"} {
		if !strings.Contains(string(out), wire) {
			t.Errorf("nothing of %s:\n%s", wire, out)
		}
	}
	t.Logf("figure: the official A2A client over\n%s", out)
}

// The command of the Go library finds an agent by its card, and talks to it.
func TestCommand(t *testing.T) {
	bin := program.Build(t, "github.com/a2aproject/a2a-go/v2/cmd/a2a")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	i := start(t, t.TempDir())
	i.request(201, "POST", "/api/v1/agents", adder)
	base := i.URL + "/a2a/adder"
	run := func(want string, args ...string) {
		t.Helper()
		args = append(args, "--auth", "Bearer "+program.AdminKey, "--timeout", "2m")
		out, err := exec.CommandContext(ctx, bin, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("a2a %s: %v, no %q\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	run("The adder", "discover", base)
	run("It is 42.", "send", base, "what are 2 and 40?")
	run("[status] completed", "send", "--stream", base, "what are 5 and 6?")
	run("It is 3.", "send", "--transport", "rest", base+"/rest", "what are 1 and 2?")
}

// What was done is there after kill -9, and what was being done has failed.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	i := start(t, dir)
	i.request(201, "POST", "/api/v1/agents", adder)
	send := func(text, config string) (id string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"` + text + `"}]}` + config + `}}`
		var out struct{ Result struct{ ID string } }
		if text := i.request(200, "POST", "/a2a/adder", body); json.Unmarshal([]byte(text), &out) != nil || out.Result.ID == "" {
			t.Fatal(text)
		}
		return out.Result.ID
	}
	get := func(id string) string {
		t.Helper()
		return i.request(200, "POST", "/a2a/adder", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"`+id+`"}}`)
	}
	done := send("what are 2 and 40?", "")
	works := send("take your time", `,"configuration":{"blocking":false}`)
	if text := get(works); !strings.Contains(text, `"working"`) && !strings.Contains(text, `"submitted"`) {
		t.Fatal(text)
	}
	i.Kill()
	i = start(t, dir)
	if text := get(done); !strings.Contains(text, "It is 42.") || !strings.Contains(text, `"completed"`) {
		t.Errorf("what was done: %s", text)
	}
	if text := get(works); !strings.Contains(text, `"failed"`) || !strings.Contains(text, "stopped during this task") {
		t.Errorf("what was being done: %s", text)
	}
}

// A push goes where the operator lets it, and nowhere else.
func TestPushes(t *testing.T) {
	heard := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard <- r.Header.Get("Authorization") + " " + r.Header.Get("A2A-Notification-Token") + " " + string(body)
	}))
	defer hook.Close()
	for _, allowed := range []bool{true, false} {
		var flags []string
		if allowed {
			flags = []string{"--egress-allow", "127.0.0.0/8"}
		}
		i := start(t, t.TempDir(), flags...)
		i.request(201, "POST", "/api/v1/agents", adder)
		body := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"what are 2 and 40?"}]},
			"configuration":{"blocking":true,"pushNotificationConfig":{"url":"` + hook.URL + `","token":"the token","authentication":{"schemes":["Bearer"],"credentials":"the credentials"}}}}}`
		if text := i.request(200, "POST", "/a2a/adder", body); !strings.Contains(text, "It is 42.") {
			t.Fatal(text)
		}
		if !allowed {
			continue // what was sent would be heard below
		}
		for last := ""; !strings.Contains(last, `"completed"`); {
			select {
			case last = <-heard:
				if !strings.HasPrefix(last, "Bearer the credentials the token ") {
					t.Errorf("told %s", last)
				}
			case <-time.After(time.Minute):
				t.Fatal("the end was not told")
			}
		}
		i.Stop(t, time.Minute)
	}
	select {
	case told := <-heard:
		t.Errorf("told although nobody allowed it: %s", told)
	case <-time.After(2 * time.Second):
	}
}

// The command says where an agent is found by its name alone, which in other
// tenants is not it.
func TestWhereItIsPublished(t *testing.T) {
	i := start(t, t.TempDir())
	i.request(201, "POST", "/api/v1/agents", adder)
	var made struct {
		AdminKey struct{ Key string } `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(i.request(201, "POST", "/api/v1/tenants", `{"id":"acme"}`)), &made); err != nil || made.AdminKey.Key == "" {
		t.Fatal(err)
	}
	other := "Authorization: Bearer " + made.AdminKey.Key
	if a, err := i.Request(t.Context(), "POST", "/api/v1/agents", `{"name":"adder","title":"Another adder","published":true,"brain":{"rules":"fallback: 'I am of acme.'\n"}}`, other); err != nil || a.Status != 201 {
		t.Fatalf("%d %v %s", a.Status, err, a.Body)
	}
	for endpoint, who := range map[string]struct{ key, name string }{"/a2a/adder/": {program.AdminKey, "The adder"}, "/a2a/acme.adder/": {made.AdminKey.Key, "Another adder"}} {
		show := exec.CommandContext(t.Context(), program.Binary(t), "agent", "show", "adder")
		show.Env = program.Env("JUNCTOR_URL="+i.URL, "JUNCTOR_KEY="+who.key)
		out, err := show.CombinedOutput()
		if !strings.Contains(string(out), endpoint+"\n") || err != nil {
			t.Errorf("%s is not said: %v\n%s", endpoint, err, out)
		}
		if card := i.request(200, "GET", endpoint+".well-known/agent-card.json", ""); !strings.Contains(card, `"name":"`+who.name+`"`) {
			t.Errorf("%s leads to %s", endpoint, card)
		}
	}
}
