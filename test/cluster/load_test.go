package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const (
	// patience is far above what anything here takes: it ends a broken test.
	patience = 90 * time.Second
	// pace is how long a client rests between two calls: it is not about rates.
	pace = 300 * time.Millisecond
)

// servers are the servers behind the replicas, by the names that they are added
// under.
func servers() []string { return []string{"legacy", "modern"} }

// load is clients of both eras that use a cluster.
type load struct {
	t       *testing.T
	c       *program.Cluster
	http    *http.Client
	clients []*client

	mu       sync.Mutex
	answered []string // digests of the arguments of calls that were answered
	by       map[int]int
	lost     []loss
	faults   []string // what nothing explains
	again    int      // clients that were told to send a request again
	rest     int      // streams that were resumed to their answer
	over     int      // and those that were told that there is none
}

// newLoad adds servers, and makes clients that each have one of several keys.
func newLoad(t *testing.T, c *program.Cluster, clients, streams int) *load {
	t.Helper()
	l := &load{t: t, c: c, by: map[int]int{}, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}}}
	t.Cleanup(l.http.CloseIdleConnections)
	for i, way := range []upstreams.Way{upstreams.Legacy, upstreams.Modern} {
		l.api("/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, servers()[i], upstreams.Start(t, way).URL), nil)
	}
	var made struct{ Key string }
	l.api("/agents", `{"name":"bot","tools":["demo/*","legacy/*","modern/*"],"limits":{"per_day":1000000}}`, &made) // limits are shared by way of the Redis
	keys := []string{made.Key}
	for i := range 2 {
		var made struct{ Key string }
		l.api("/keys", fmt.Sprintf(`{"name":"k%d","scopes":["tools:read","tools:call"]}`, i), &made)
		keys = append(keys, made.Key)
	}
	for n, in := range c.Replicas() {
		for _, key := range keys {
			l.until(fmt.Sprintf("replica %d knows keys and servers", n), func() bool {
				a, err := in.Request(t.Context(), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+key)
				return err == nil && strings.Contains(a.Body, "legacy__tag") && strings.Contains(a.Body, "modern__tag")
			})
		}
	}
	for i := range clients {
		one := &client{l: l, name: fmt.Sprintf("c%d", i), key: keys[i%len(keys)], modern: i%2 == 1}
		if i < streams {
			one.steps = 4
		}
		if err := one.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.clients = append(l.clients, one)
	}
	return l
}

// api makes something at whichever replica is next.
func (l *load) api(path, body string, into any) {
	l.t.Helper()
	a, err := l.c.Replica(0).Request(l.t.Context(), http.MethodPost, "/api/v1"+path, body)
	if err != nil || a.Status != http.StatusCreated {
		l.t.Fatalf("POST %s: %d %s %v", path, a.Status, a.Body, err)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			l.t.Fatal(err)
		}
	}
}

// run has all clients call until stop ends, and waits for what is under way then.
func (l *load) run(stop context.Context) {
	var work sync.WaitGroup
	for i, one := range l.clients {
		work.Go(func() {
			pauseFor(stop, pace*time.Duration(i)/time.Duration(len(l.clients))) // not all at once
			for stop.Err() == nil {
				one.call(l.t.Context())
				pauseFor(stop, pace)
			}
		})
	}
	work.Wait()
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (l *load) reportWrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

func (l *load) answer(digest string, replica int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = append(l.answered, digest)
	l.by[replica]++
}

func (l *load) recordLoss(one loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = append(l.lost, one)
}

func (l *load) eventCount() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again++
}

// resumed notes that the rest of a stream was had, with its answer or without.
func (l *load) resumed(answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answered {
		l.rest++
	} else {
		l.over++
	}
}

// checkResults holds that nothing was answered wrongly.
func (l *load) checkResults() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, text := range l.faults {
		if i == 10 {
			l.t.Errorf("and %d more", len(l.faults)-i)
			return
		}
		l.t.Error(text)
	}
}

func (l *load) until(what string, holds func() bool) {
	l.t.Helper()
	poll.Until(l.t, what, patience, holds)
}
