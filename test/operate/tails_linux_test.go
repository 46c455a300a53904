package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// What TestTailsCost measures with, and the most that tails and polls may cost.
const (
	tailedRate     = 500 // calls per second
	tailedTime     = 20 * time.Second
	tailedRounds   = 2
	openTails      = 50
	polledRate     = 22 // polls per second
	maxTailsFactor = 1.5
)

// polledPaths are what the console asks for again and again if it has no stream of changes,
// each as often as 50 open consoles ask for it in comparison.
func polledPaths() []string {
	return []string{
		"/servers", "/events?limit=50", "/servers", "/deliveries?limit=50", "/servers", "/endpoints", "/servers", "/servers/demo", "/servers", "/attention", "/chains",
	}
}

// TestTailsCost measures what open tails and polls add to the processor time of an instance
// that makes calls at a constant rate.
func TestTailsCost(t *testing.T) {
	if !program.Long() {
		t.Skip("a measurement: make prove, part tails")
	}
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0")
	if a, err := in.Request(t.Context(), http.MethodPatch, "/api/v1/limits", limited); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	auditor := createKey(t, in, `{"name":"auditor","scopes":["audit:read","tools:read"]}`)
	makeCalls(t, in, 5*time.Second) // warm
	var alone, tailed, polled time.Duration
	for range tailedRounds {
		alone += makeCalls(t, in, tailedTime)
		close := followCalls(t, in, auditor)
		tailed += makeCalls(t, in, tailedTime)
		stop := pollLists(t, in)
		polled += makeCalls(t, in, tailedTime)
		stop()
		close()
	}
	factor := func(d time.Duration) float64 { return float64(d) / float64(alone) }
	each := func(d time.Duration) float64 { return 100 * d.Seconds() / (tailedRounds * tailedTime.Seconds()) }
	t.Logf("figure: CPU time at %d calls per second for %s: %.1f %% of a core without tails; with %d open tails %.2f of that; with %d polls per second too %.2f of it",
		tailedRate, tailedTime, each(alone), openTails, factor(tailed), polledRate, factor(polled))
	if factor(polled) > maxTailsFactor {
		t.Errorf("tails and polls cost %.2f of what calls cost without them; at most %.1f is promised", factor(polled), maxTailsFactor)
	}
}

// createKey creates an API key and returns its token.
func createKey(t *testing.T, in *program.Instance, body string) string {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/keys", body)
	var created struct{ Key string }
	if err != nil || a.Status != http.StatusCreated || json.Unmarshal([]byte(a.Body), &created) != nil {
		t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	return created.Key
}

// makeCalls makes calls at a constant rate, and returns the processor time that the instance
// used meanwhile.
func makeCalls(t *testing.T, in *program.Instance, wait time.Duration) time.Duration {
	t.Helper()
	const callers = 10
	before := processorTime(t, in)
	var all sync.WaitGroup
	for range callers {
		caller := program.NewCaller(t, program.Plain, in.URL, program.AdminKey)
		all.Go(func() {
			defer caller.CloseIdle()
			start := time.Now()
			for n := range int(wait.Seconds() * tailedRate / callers) {
				poll.Pause(time.Until(start.Add(time.Duration(n)*callers*time.Second/tailedRate)), "the rate of the calls is what is measured with")
				if a, err := caller.Call(t.Context(), "demo__echo", fmt.Sprintf(`{"text":"call %d"}`, n)); err != nil || a.Text == "" {
					t.Errorf("%v %d %s", err, a.Status, a.Body)
					return
				}
			}
			poll.Pause(time.Until(start.Add(wait)), "the rate of the calls is what is measured with")
		})
	}
	all.Wait()
	return processorTime(t, in) - before
}

// followCalls opens tails: half of them of an admin, a quarter with a filter, and a quarter
// of a key that may only read calls. close ends them, and fails the test if one received too
// little.
func followCalls(t *testing.T, in *program.Instance, auditor string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	ended := make([]int, openTails)
	for n := range openTails {
		key, query := program.AdminKey, ""
		switch n % 4 {
		case 0:
			query = "?server=demo&tool=demo__echo"
		case 1:
			key = auditor
		}
		body := openStream(ctx, t, in, "/api/v1/calls/tail"+query, key)
		all.Go(func() {
			defer body.Close()
			buf := make([]byte, 1<<20)
			for {
				got, err := body.Read(buf)
				ended[n] += bytes.Count(buf[:got], []byte(`"duration_ns"`))
				if err != nil {
					return
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
		for n, got := range ended {
			if want := int(tailedTime.Seconds() * tailedRate); got < want {
				t.Errorf("tail %d received %d ended calls of at least %d", n, got, want)
			}
		}
	}
}

// openStream opens a stream with a key.
func openStream(ctx context.Context, t *testing.T, in *program.Instance, path, key string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %v %v", path, resp, err)
	}
	return resp.Body
}

// pollLists asks for the lists of the console at a constant rate until stop is called.
func pollLists(t *testing.T, in *program.Instance) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var polls atomic.Int64
	start := time.Now()
	all.Go(func() {
		paths := polledPaths()
		for n := 0; ctx.Err() == nil; n++ {
			path := "/api/v1" + paths[n%len(paths)]
			all.Go(func() {
				if a, err := in.Request(ctx, http.MethodGet, path, ""); ctx.Err() == nil && (err != nil || a.Status != http.StatusOK) {
					t.Errorf("GET %s: %v %d %s", path, err, a.Status, a.Body)
				}
				polls.Add(1)
			})
			poll.Pause(time.Until(start.Add(time.Duration(n+1)*time.Second/polledRate)), "the rate of the polls is what is measured with")
		}
	})
	return func() {
		cancel()
		all.Wait()
		if got, want := polls.Load(), int64(tailedTime.Seconds()*polledRate); got < want*9/10 {
			t.Errorf("%d polls were made of %d", got, want)
		}
	}
}
