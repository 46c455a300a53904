package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	tailedRounds   = 3
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
	makeCalls(t, in, 5*time.Second)     // warm
	var alone, tailed, polled []float64 // of a round: of a core, and of what it was alone
	for range tailedRounds {
		before := makeCalls(t, in, tailedTime)
		end := followCalls(t, in, auditor)
		tails := makeCalls(t, in, tailedTime)
		stop := pollLists(t, in)
		both := makeCalls(t, in, tailedTime)
		stop()
		end()
		alone, tailed, polled = append(alone, before.Seconds()/tailedTime.Seconds()), append(tailed, float64(tails)/float64(before)), append(polled, float64(both)/float64(before))
		t.Logf("CPU time alone %s, with tails %s, with polls too %s", before, tails, both)
	}
	for _, all := range [][]float64{alone, tailed, polled} {
		slices.Sort(all)
	}
	const middle = tailedRounds / 2
	t.Logf("figure: CPU time at %d calls per second for %s: %.1f %% of a core without tails; with %d open tails %.2f of that; with %d polls per second too %.2f of it (%.2f to %.2f in %d rounds)",
		tailedRate, tailedTime, 100*alone[middle], openTails, tailed[middle], polledRate, polled[middle], polled[0], polled[tailedRounds-1], tailedRounds)
	if polled[middle] > maxTailsFactor {
		t.Errorf("tails and polls cost %.2f of what calls cost without them; at most %.1f is promised", polled[middle], maxTailsFactor)
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
	before, began := processorTime(t, in), time.Now()
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
	if took := time.Since(began); took > wait+wait/5 {
		t.Fatalf("the calls of %s took %s: the machine is too busy for this measurement", wait, took)
	}
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
