package policy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// Rules that the tests of replicas add and remove.
const (
	denyRule   = `{"verdict":"deny","target":{"items":["files/*"]},"message":"the rule denies"}`
	resultRule = `{"verdict":"deny","phase":"result","target":{"items":["files/*"]},"message":"the rule withholds"}`
)

// trio is three replicas before one server. Changes are not waited for: that they hold once
// they are answered is what is tested.
type trio struct {
	*testing.T
	replicas []*program.Instance
	arrived  chan struct{} // a call of hold has reached the server
	release  chan struct{} // ends such a call
	reached  atomic.Int64  // calls that have reached the server
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	tr := &trio{T: t, arrived: make(chan struct{}, 10), release: make(chan struct{}, 10)}
	sdk := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	for _, name := range []string{"read", "hold"} {
		sdk.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tr.reached.Add(1)
			if name == "hold" {
				tr.arrived <- struct{}{}
				select {
				case <-tr.release:
				case <-ctx.Done():
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it ran"}}}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		_ = web.Config.Close()
		web.Close()
	})
	c := program.StartCluster(t, program.ClusterOptions{NoRedis: true, Args: []string{"--builtin", "", "--call-timeout", "10m"}})
	tr.replicas = c.Replicas()
	tr.change(0, http.StatusCreated, "POST", "/servers", fmt.Sprintf(`{"id":"files","url":%q}`, web.URL))
	for n := range tr.replicas {
		poll.Until(t, fmt.Sprintf("replica %d has the server", n), patience, func() bool { return tr.call(n, "read") == "made" })
	}
	return tr
}

// change changes something at a replica.
func (tr *trio) change(n, status int, method, path, body string) {
	tr.Helper()
	a, err := tr.replicas[n].Request(tr.Context(), method, "/api/v1"+path, body)
	if err != nil || a.Status != status {
		tr.Fatalf("%s %s at replica %d: %d %v %s", method, path, n, a.Status, err, a.Body)
	}
}

// call calls a tool at a replica and says how that ended.
func (tr *trio) call(n int, tool string) string {
	a, err := tr.replicas[n].Request(tr.Context(), "POST", "/mcp/request", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__%s","arguments":{}}}`, tool))
	switch {
	case err != nil:
		return err.Error()
	case strings.Contains(a.Body, "it ran"):
		return "made"
	case strings.Contains(a.Body, "the rule denies"):
		return "denied"
	case strings.Contains(a.Body, "the rule withholds"):
		return "withheld"
	case strings.Contains(a.Body, "cannot be confirmed"):
		return "unavailable"
	}
	return a.Body
}

// TestNoReplicaDecidesByFormerRules enforces and removes a rule through one replica after
// the other, while callers call through all of them: what begins after a change is
// answered ends as the change says.
func TestNoReplicaDecidesByFormerRules(t *testing.T) {
	t.Parallel()
	rounds, callers := 12, 1
	if program.Long() {
		rounds, callers = 300, 1
	}
	tr := newTrio(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// phase is even while calls are made, odd while they are denied; it is changing while
	// a change is on its way.
	var phase atomic.Int64
	const changing = -1
	var checked, wrong [2]atomic.Int64
	var first sync.Once
	check := func(n int) {
		before := phase.Load()
		end := tr.call(n, "read")
		if before == changing || phase.Load() != before || ctx.Err() != nil {
			return // a change was under way
		}
		checked[before%2].Add(1)
		if want := []string{"made", "denied"}[before%2]; end != want {
			wrong[before%2].Add(1)
			first.Do(func() { t.Errorf("replica %d in phase %d: the call was %s, want %s", n, before, end, want) })
		}
	}
	var work sync.WaitGroup
	for n := range tr.replicas {
		for range callers {
			work.Go(func() {
				for ctx.Err() == nil {
					check(n)
				}
			})
		}
	}
	for round := range rounds {
		for _, enforced := range []bool{true, false} {
			at := int64(2 * round)
			phase.Store(changing)
			if enforced {
				tr.change(round%3, http.StatusOK, "PUT", "/policies/changing", denyRule)
				at++
			} else {
				tr.change((round+1)%3, http.StatusNoContent, "DELETE", "/policies/changing", "")
				at += 2
			}
			reached := tr.reached.Load()
			phase.Store(at)
			for n := range tr.replicas {
				check(n)
			}
			if reached = tr.reached.Load() - reached; enforced && reached > int64(len(tr.replicas)*callers) {
				t.Errorf("%d calls reached the server while a rule denied them", reached) // those that began before may still
			}
		}
	}
	cancel()
	work.Wait()
	if checked[0].Load() < int64(3*rounds) || checked[1].Load() < int64(3*rounds) {
		t.Errorf("only %d and %d calls between changes", checked[0].Load(), checked[1].Load())
	}
	t.Logf("figure: %d changes of a rule, each through another of three replicas: %d calls at all of them while it denied, %d of them made; %d calls while it did not, %d of them denied",
		2*rounds, checked[1].Load(), wrong[1].Load(), checked[0].Load(), wrong[0].Load())
}
