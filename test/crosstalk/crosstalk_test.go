// Package crosstalk lets many clients of both eras use servers of every
// transport at once, with the same ids and progress tokens, through one instance and
// through replicas, and holds that each hears what belongs to its own calls, all of
// it, and nothing else.
package crosstalk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

// TestMain lets this binary be a server over stdio, and the guard of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	if os.Getenv("PLAY_SERVER") != "" {
		if err := upstreams.Play(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(program.Main(m))
}

// stdio is the server that is a command, beside those of upstreams.Ways.
const stdio = "stdio"

// patience is far above what a call takes: it is here to end a broken test.
const patience = time.Minute

// serveUpstreams puts one server of each way behind an instance or replicas, and gives their
// ids.
func serveUpstreams(t *testing.T, in *topology.Site) []string {
	t.Helper()
	var ids []string
	add := func(id, more string) {
		if r := in.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"call_timeout":%q,%s}`, id, patience, more)); r.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", id, r.Status, r.Body)
		}
		ids = append(ids, id)
	}
	for i, way := range upstreams.Ways() {
		p := upstreams.Start(t, way)
		add(fmt.Sprintf("peer%d", i), fmt.Sprintf(`"url":%q,"transport":%q`, p.URL, way.Transport()))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	add(stdio, fmt.Sprintf(`"transport":"stdio","command":[%q],"env":{"PLAY_SERVER":"1"}`, self))
	return ids
}

func newKey(t *testing.T, in *topology.Site) string {
	t.Helper()
	var made struct{ Key string }
	r := in.Do(t, "POST", "/api/v1/keys", `{"name":"k","scopes":["tools:call"]}`)
	if err := json.Unmarshal([]byte(r.Body), &made); err != nil || made.Key == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return made.Key
}

func TestNoAnswerGoesAstray(t *testing.T) {
	t.Parallel()
	settings := testkit.Settings{"egress-allow": "127.0.0.0/8", "allow-commands": "true"}
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		clients, calls := 32, 40
		if program.Long() {
			clients, calls = 200, 500
		}
		noneAstray(t, topology.One(testkit.Start(t, settings)), clients, calls)
	})
	// Each request of a client reaches another replica than the one before, also the
	// one that cancels a call.
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		clients, calls := 18, 30
		if program.Long() {
			clients, calls = 64, 200
		}
		noneAstray(t, topology.Replicas(t, settings), clients, calls)
	})
}

func noneAstray(t *testing.T, in *topology.Site, clients, calls int) {
	t.Helper()
	servers := serveUpstreams(t, in)
	keys := []string{newKey(t, in), newKey(t, in), newKey(t, in)}
	// net/http dials ahead of its need, and a server gives a connection on which
	// nothing was sent 10 s: a POST on one that is just being closed fails. So this
	// client gives them up before.
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * clients, IdleConnTimeout: 5 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	var sums sums
	var wg sync.WaitGroup
	all, failed := context.WithCancel(t.Context())
	defer failed()
	meetings := map[int]*meeting{}
	for k := range calls {
		if k%17 == 11 {
			meetings[k] = &meeting{missing: clients, begun: make(chan struct{})}
		}
	}
	begun := time.Now()
	for n := range clients {
		c := &client{url: in.URL, key: keys[n%len(keys)], http: &http.Client{Transport: transport}, modern: n%2 == 0, sums: &sums}
		wg.Go(func() {
			if err := c.open(all); err != nil {
				t.Error(err)
				failed()
				return
			}
			for k := range calls {
				server := servers[(n+k)%len(servers)]
				o := order{
					// Ids and tokens are those of every other client; the nonce is its own.
					id: k + 1, server: server, nonce: fmt.Sprintf("c%d-%d-%s", n, k, server), steps: k % 4,
					json: server == "peer1",
				}
				if m := meetings[k]; m != nil {
					// All call at once. Half of them cancel, at their first progress, while the
					// calls of the others with the same id are under way.
					if o.steps, o.pause = 3, 100; n%4 < 2 && !o.json {
						o.cancel, o.steps, o.pause = true, 1, 0
					}
					m.wait(all)
				}
				ctx, cancel := context.WithTimeout(all, 2*patience)
				err := c.run(ctx, o)
				cancel()
				if all.Err() != nil {
					return // somebody else said why
				}
				if err != nil {
					t.Errorf("%s, after %v: %v", o.nonce, time.Since(begun).Round(time.Second), err)
					failed()
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	// What the servers counted is what the clients did: nothing was made twice,
	// and every cancellation arrived.
	want := fmt.Sprint(clients*calls, " ", sums.cancelled.Load())
	var got string
	if !poll.Holds(time.Minute, func() bool {
		got = describeSeen(t, in, servers)
		return got == want
	}) {
		t.Errorf("the servers saw %s calls and cancellations, want %s", got, want)
	}
	if n := sums.answers.Load() + sums.cancelled.Load(); n != int64(clients*calls) {
		t.Errorf("%d of %d calls are accounted for", n, clients*calls)
	}
	t.Logf("figure: %d clients of both eras, %d calls each through %d instances, servers over %v and stdio: %d answers, %d progress notes, %d calls cancelled; none misrouted, none missing, none duplicated",
		clients, calls, len(in.Each), upstreams.Ways(), sums.answers.Load(), sums.notes.Load(), sums.cancelled.Load())
}

// meeting is where clients wait for each other.
type meeting struct {
	mu      sync.Mutex
	missing int
	begun   chan struct{} // closed when all are there
}

func (m *meeting) wait(ctx context.Context) {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.begun)
	}
	m.mu.Unlock()
	select {
	case <-m.begun:
	case <-ctx.Done():
	}
}

// sums is what all clients together met.
type sums struct{ answers, notes, cancelled atomic.Int64 }

// describeSeen adds up what the servers count. A command may run at each replica.
func describeSeen(t *testing.T, in *topology.Site, servers []string) string {
	t.Helper()
	var calls, cancelled int
	for _, id := range servers {
		counted := map[int]bool{} // by process
		for _, one := range in.Each {
			r := one.Do(t, "POST", "/api/v1/tools/"+id+"__seen/call", `{"arguments":{}}`)
			var res struct{ Content []struct{ Text string } }
			if err := json.Unmarshal([]byte(r.Body), &res); err != nil || len(res.Content) != 1 {
				t.Fatalf("%s: %d %s", id, r.Status, r.Body)
			}
			var a, b, process int
			if _, err := fmt.Sscan(res.Content[0].Text, &a, &b, &process); err != nil {
				t.Fatalf("%s: %q", id, res.Content[0].Text)
			}
			if !counted[process] {
				calls, cancelled = calls+a, cancelled+b
			}
			counted[process] = true
		}
	}
	return fmt.Sprint(calls, " ", cancelled)
}
