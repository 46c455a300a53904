//go:build unix

package upstream

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/test/program"
)

// server makes a Server of a rig. blunt has it begin with initialize, so that an
// official server, which speaks both, is of the legacy era.
func (r *rig) server(t *testing.T, blunt bool) *Server {
	t.Helper()
	r.Command.pool.setSkipDiscover(blunt)
	s, err := New(*r.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func eras() map[string]bool { return map[string]bool{"modern": false, "legacy": true} }

func TestStdioServerDoesEverything(t *testing.T) {
	t.Parallel()
	for era, blunt := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "peer")
			s := r.server(t, blunt)
			offer, err := s.Offer(ctxFor(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(offer.Tools) != 8 || len(offer.Resources) != 1 || len(offer.Templates) != 1 || len(offer.Prompts) != 1 || offer.Instructions != "be kind" {
				t.Errorf("offer: %+v", offer)
			}
			if got := textOf(t, do(t, s, toolCall("echo", "{\n \"a\": 1.10}"))); strings.Join(strings.Fields(got), "") != `{"a":1.10}` {
				t.Errorf("echo gave %s", got)
			}
			if res := do(t, s, toolCall("fail", `{}`)); !res.IsError {
				t.Errorf("a failed tool is no error: %s", res.Body)
			}
			var heard notes
			req := toolCall("progress", `{}`)
			req.Caller.Progress = true
			if _, err := s.Do(ctxFor(t), req, &heard); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(heard.progress, ""); got != `{"progress":1,"total":3}{"progress":2,"total":3}{"progress":3,"total":3}` {
				t.Errorf("progress: %s", got)
			}
			if _, err := s.Do(ctxFor(t), toolCall("nothing", `{}`), &notes{}); err == nil {
				t.Error("an unknown tool was called")
			}
			if st := s.State(); !st.Connected || st.Era != era || st.Transport != TransportStdio || st.Sessions != 1 {
				t.Errorf("state: %+v", st)
			}
			s.Close()
			started := pids(t, r.roll)
			if len(started) != 1 || alive(started[0]) {
				t.Errorf("processes %v, want one that has ended", started)
			}
		})
	}
}

func TestStdioServerAsks(t *testing.T) {
	t.Parallel()
	s := newRig(t, "peer").server(t, true)
	req := toolCall("elicit", `{}`)
	req.Caller.Capabilities = []byte(everyone)
	res := do(t, s, req)
	if !res.Input {
		t.Fatalf("not asked: %s", res.Body)
	}
	res = do(t, s, retry(req, res, func(string, string) string { return `{"action":"accept","content":{"n":"Ada"}}` }))
	if got := textOf(t, res); got != "accept Ada" {
		t.Errorf("got %q", got)
	}
}

// Ten callers, a hundred calls each, all at once: one process.
func TestStdioServerIsShared(t *testing.T) {
	t.Parallel()
	for era, blunt := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "peer")
			s := r.server(t, blunt)
			ctx := ctxFor(t)
			var group sync.WaitGroup
			for i := range 10 {
				for k := range 100 {
					group.Go(func() {
						args := fmt.Sprintf(`{"nonce":"%d-%d"}`, i, k)
						req := toolCall("echo", args)
						req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: fmt.Sprint(i)}
						res, err := s.Do(ctx, req, &notes{})
						if err != nil {
							t.Error(err)
						} else if got := textOf(t, res); got != args {
							t.Errorf("%s got %s", args, got)
						}
					})
				}
			}
			group.Wait()
			s.Close()
			if started := pids(t, r.roll); len(started) != 1 || alive(started[0]) {
				t.Errorf("processes %v, want one that has ended", started)
			}
		})
	}
}

// Real servers, where Node and they are installed.
func TestStdioRealServers(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]struct {
		args      []string
		tool      string
		arguments string
		says      string
	}{
		"server-everything": {args: []string{"stdio"}, tool: "echo", arguments: `{"message":"n%d"}`, says: "Echo: n%d"},
		"server-memory":     {tool: "create_entities", arguments: `{"entities":[{"name":"n%d","entityType":"t","observations":[]}]}`, says: `"n%d"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := program.FindNode(t)
			script := node.Module("@modelcontextprotocol/" + name + "/dist/index.js")
			r := newRig(t, "plain")
			r.Command.Program = runs(append([]string{node.Bin(), script}, call.args...)...)
			r.Command.Env = []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}
			s := r.server(t, false)
			offer, err := s.Offer(ctxFor(t))
			if err != nil {
				t.Fatalf("%v\n%s", err, r.Command.Output())
			}
			t.Logf("%+v; %d tools, %d resources, %d prompts; it wrote: %s", s.State(), len(offer.Tools), len(offer.Resources), len(offer.Prompts), r.Command.Output())
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					res, err := s.Do(ctxFor(t), toolCall(call.tool, fmt.Sprintf(call.arguments, i)), &notes{})
					if want := fmt.Sprintf(call.says, i); err != nil || !strings.Contains(textOf(t, res), want) {
						t.Errorf("call %d: %s, %v; want %s", i, res.Body, err, want)
					}
				})
			}
			group.Wait()
			if st := s.State(); st.Sessions != 1 || !st.Connected {
				t.Errorf("state %+v", st)
			}
			if name == "server-everything" {
				req := toolCall("trigger-elicitation-request", `{}`)
				req.Caller.Capabilities = []byte(everyone)
				res := do(t, s, req)
				for range 3 {
					if !res.Input {
						break
					}
					res = do(t, s, retry(req, res, func(_, method string) string {
						if method == wire.MethodRootsList {
							return `{"roots":[]}`
						}
						return `{"action":"decline"}`
					}))
				}
				if got := textOf(t, res); !strings.Contains(got, "decline") {
					t.Errorf("elicitation: %s", res.Body)
				}
			}
		})
	}
}
