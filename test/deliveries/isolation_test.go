package deliveries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/mcpagent"
	"github.com/junctor-mcp/junctor/test/program"
)

const (
	endpoints = 100
	ofTheirs  = 4 // places of an endpoint
	burst     = 20
)

// otherEndpoints are a hundred agents, each at an address of its own. The first can
// die: it goes on taking calls, and never answers.
type otherEndpoints struct {
	urls  []string
	dead  atomic.Bool
	mu    sync.Mutex
	at    map[string]time.Time // when which event arrived
	hangs int                  // calls that the dead one has at this moment
	most  int
}

// always has an agent do again what it did before.
type always struct{}

func (always) RunOnce(_ context.Context, _ string, do func() error) (bool, error) { return true, do() }

type numbered struct {
	Name string `json:"name"`
}

func newNeighbours(t *testing.T) *otherEndpoints {
	t.Helper()
	n := &otherEndpoints{at: map[string]time.Time{}}
	over := make(chan struct{})
	for i := range endpoints {
		agent := mcpagent.New(fmt.Sprint("agent", i), mcpagent.Options{Deduplicator: always{}})
		mcpagent.AddHandler(agent, "receive", "Takes events", func(_ context.Context, _ mcpagent.Delivery, e numbered) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.at[e.Name] = time.Now()
			return nil
		})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i == 0 && n.dead.Load() {
				n.holdRequest(r, over)
				return
			}
			agent.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		n.urls = append(n.urls, server.URL)
	}
	t.Cleanup(func() { close(over) })
	return n
}

// holdRequest takes a request and has no answer.
func (n *otherEndpoints) holdRequest(r *http.Request, over <-chan struct{}) {
	body, err := io.ReadAll(r.Body)
	if call := err == nil && bytes.Contains(body, []byte(`"tools/call"`)); call {
		n.mu.Lock()
		n.hangs++
		n.most = max(n.most, n.hangs)
		n.mu.Unlock()
		defer func() {
			n.mu.Lock()
			n.hangs--
			n.mu.Unlock()
		}()
	}
	select {
	case <-over:
	case <-r.Context().Done():
	}
}

func (n *otherEndpoints) arrived(names []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !slices.ContainsFunc(names, func(name string) bool { return n.at[name].IsZero() })
}

// TestADeadEndpointDelaysNoOther has one of a hundred endpoints take calls and
// never answer them. It holds the places of one endpoint, and what goes to the
// others arrives; make prove compares how long that takes.
func TestADeadEndpointDelaysNoOther(t *testing.T) {
	if !program.Long() {
		took := deliverToAll(t, true, 2*time.Second)
		t.Logf("1 of 100 endpoints dead: %d events arrived at the others", len(took))
		return
	}
	const rounds, last = 5, 10 * time.Second
	var without, with, ratios []float64
	for n := range rounds {
		var a, b float64
		measures := []func(){
			func() { a = ms(percentile(deliverToAll(t, false, last), 95)) },
			func() { b = ms(percentile(deliverToAll(t, true, last), 95)) },
		}
		if n%2 == 1 {
			slices.Reverse(measures)
		}
		for _, measure := range measures {
			measure()
		}
		t.Logf("round %d: p95 %.1f ms without and %.1f ms with it", n+1, a, b)
		without, with, ratios = append(without, a), append(with, b), append(ratios, b/a)
	}
	ratio := percentile(ratios, 50)
	t.Logf("figure: 1 of 100 endpoints dead: p95 from sending an event to the call of another endpoint is %.2f times (%.2f-%.2f) the value with all alive, goal 1.2; %.1f and %.1f ms, %d alternating rounds",
		ratio, slices.Min(ratios), slices.Max(ratios), percentile(with, 50), percentile(without, 50), rounds)
	if ratio > 1.2 {
		t.Errorf("one dead endpoint makes the others %.2f times as slow, want at most 1.2", ratio)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile is the least of a list that p of a hundred are not above.
func percentile[T time.Duration | float64](list []T, p int) T {
	list = slices.Sorted(slices.Values(list))
	return list[(len(list)*p+99)/100-1]
}

// deliverToAll sends events to a hundred endpoints in turn, at an even pace, for
// a while, and gives the time from the sending of each to its call, those of the
// first endpoint left out.
func deliverToAll(t *testing.T, dead bool, last time.Duration) (took []time.Duration) {
	t.Helper()
	const pace = 10 * time.Millisecond
	n := newNeighbours(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0", "--egress-allow", "127.0.0.0/8")
	for i, url := range n.urls {
		api(t, in, http.MethodPost, "/servers", fmt.Sprintf(`{"id":"bot%d","url":%q}`, i, url), http.StatusCreated, nil)
		api(t, in, http.MethodPost, "/triggers", fmt.Sprintf(`{"name":"to%d","match":{"type":"to%d"},"action":{"server":"bot%d","tool":"receive","template":{"name":"{{data.name}}"},"timeout_ms":60000}}`, i, i, i), http.StatusCreated, nil)
	}
	send := func(to int, name string) error {
		a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/events", fmt.Sprintf(`{"type":"to%d","data":{"name":%q}}`, to, name))
		if err == nil && a.Status != http.StatusAccepted {
			err = fmt.Errorf("HTTP %d: %s", a.Status, a.Body)
		}
		return err
	}
	var warm []string // every endpoint was called before it counts
	for i := range endpoints {
		warm = append(warm, fmt.Sprint("warm ", i))
		if err := send(i, warm[i]); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "every endpoint was called", patient, func() bool { return n.arrived(warm) })

	n.dead.Store(dead)
	var first []string // more than it has places for
	for i := range burst {
		first = append(first, fmt.Sprint("burst ", i))
		if err := send(0, first[i]); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "the first endpoint has its burst", patient, func() bool {
		if !dead {
			return n.arrived(first)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.most == ofTheirs
	})

	var mu sync.Mutex
	sent := map[string]time.Time{}
	var sending sync.WaitGroup
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range int(last / pace) {
		<-tick.C
		to, name := i%endpoints, fmt.Sprint("event ", i)
		sending.Go(func() {
			at := time.Now()
			if err := send(to, name); err != nil {
				t.Error(err)
				return
			}
			if to == 0 {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sent[name] = at
		})
	}
	sending.Wait()
	var names []string
	for name := range sent {
		names = append(names, name)
	}
	poll.Until(t, "what goes to the others arrives", patient, func() bool { return n.arrived(names) })
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, at := range sent {
		took = append(took, n.at[name].Sub(at))
	}
	if dead && n.most != ofTheirs {
		t.Errorf("the dead endpoint had %d calls at a time, want %d", n.most, ofTheirs)
	}
	for name := range n.at {
		if dead && strings.HasPrefix(name, "burst") {
			t.Errorf("%s arrived at an endpoint that is dead", name)
		}
	}
	in.Kill() // what hangs goes with it
	return took
}
