package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/fault"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// listLimit is far above what a list takes that waits for nobody.
const listLimit = 2 * time.Second

// list asks for all tools and gives their names.
func (r *rig) list() ([]string, time.Duration) {
	r.t.Helper()
	begun := time.Now()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{%q:%q,%q:{}}}}`, wire.MetaProtocolVersion, wire.ModernVersion, wire.MetaClientCapabilities)
	status, text, err := r.post(context.Background(), "/mcp", body, http.Header{
		"Authorization": {"Bearer " + testkit.AdminKey}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		wire.HeaderProtocolVersion: {wire.ModernVersion}, wire.HeaderMethod: {wire.MethodToolsList},
	})
	var a struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil || status != http.StatusOK {
		r.t.Errorf("list: %d %s %v", status, text, err)
	}
	var names []string
	for _, tool := range a.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, time.Since(begun)
}

// Whatever a server does, the list is there at once, with everything that the
// others offer and what the bad one was last seen to; after a restart, too.
func TestListsWaitForNobody(t *testing.T) { //nolint:paralleltest // it would slow what counts in the others
	dir := t.TempDir()
	r := newRig(t, 300*time.Millisecond, upstreams.Legacy, upstreams.Modern, upstreams.SSE)
	r.in.Stop()
	r.in = testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir})
	for i, p := range r.bad {
		r.add(badID(i), r.proxies[i].URL, p.Way, r.deadline)
	}
	for i, p := range r.good {
		r.add(serverID(i), p.URL, p.Way, 20*time.Second)
	}
	want, _ := r.list()
	for i := range r.bad {
		if !slices.Contains(want, badID(i)+"__tag") {
			t.Fatalf("%v", want)
		}
	}
	kinds := fault.Kinds()
	for n, k := range kinds {
		r.set(k)
		if n%5 == 0 { // a start with servers that are bad
			r.in.Stop()
			r.in = testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "data-dir": dir})
		}
		for i := range r.bad {
			go r.call(context.Background(), endpointModern, badID(i), upstreams.Tag{Nonce: "x"}) // so that it is known to be bad
		}
		for range 3 {
			got, took := r.list()
			if !slices.Equal(got, want) || took > listLimit {
				t.Errorf("%v: %v after %v", k, got, took)
			}
		}
		if out := r.call(context.Background(), endpointModern, serverID(n%others), upstreams.Tag{Nonce: "well"}); out.text != "well" {
			t.Errorf("%v: %s: %+v", k, serverID(n%others), out)
		}
	}
	// What is wrong with a server is said where servers are shown.
	r.set(fault.Refuse)
	for i := range r.bad {
		var body string
		if !poll.Holds(time.Minute, func() bool {
			r.call(context.Background(), endpointModern, badID(i), upstreams.Tag{Nonce: "x"})
			body = r.in.Do(t, "GET", "/api/v1/servers/"+badID(i), "").Body
			return strings.Contains(body, `"state":"error"`)
		}) {
			t.Fatalf("%s is not shown as bad: %s", badID(i), body)
		}
		if !strings.Contains(body, `"last_error":"`) {
			t.Errorf("%s: %s", badID(i), body)
		}
	}
	t.Logf("figure: lists under %d kinds of faults in front of 3 of 12 servers: all tools at once, also after a restart", len(kinds))
}

// A server that goes bad in the middle of its answers ends the calls that wait
// for them, with an error that says so, and no others.
func TestBadInTheMiddle(t *testing.T) { //nolint:paralleltest // it counts goroutines
	const calls = 12
	r := newRig(t, 5*time.Second, upstreams.Legacy, upstreams.Modern, upstreams.SSE)
	r.warmUp()
	before := r.waitSettled()
	running := func() int64 {
		var n int64
		for _, p := range r.bad {
			n += p.Seen.Calls.Load()
		}
		return n
	}
	already := running()
	l := r.load(time.Millisecond)
	ended := map[junctor.Code]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			// It tells of its progress, and then nothing for long.
			out := r.call(context.Background(), endpointModern, badID(i%len(r.bad)), upstreams.Tag{Nonce: fmt.Sprint("half", i), Steps: 3, Hold: true})
			mu.Lock()
			defer mu.Unlock()
			ended[out.code]++
			if !slices.Contains([]junctor.Code{junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeUnreachable, junctor.CodeTimeout}, out.code) || out.took > r.deadline+graceTime() {
				t.Errorf("a call that was cut ended with %q after %v: %s", out.code, out.took, out.text)
			}
		})
	}
	if !poll.Holds(time.Minute, func() bool { return running() >= already+calls }) {
		t.Fatalf("only %d calls run", running()-already)
	}
	r.set(fault.Refuse) // resets what is open
	all.Wait()
	took, wrong := l.end()
	if len(wrong) > 0 {
		t.Errorf("%d of %d calls of others went wrong: %q", len(wrong), len(took), wrong[:min(len(wrong), 3)])
	}
	r.set(fault.None)
	r.checkRecovery(fault.Refuse)
	var more string
	if !poll.Holds(time.Minute, func() bool {
		more = r.measureHeld().compareHeld(before)
		return more == ""
	}) {
		t.Fatalf("more is held than before: %s", more)
	}
	t.Logf("figure: %d calls with interrupted streams: %s; %d calls of the other nine in the meantime, all correct", calls, formatTally(ended), len(took))
}
