// Package matrix stands many MCP servers behind one instance, makes one of each
// way bad in every way there is, and holds that nobody else notices: calls of the
// bad end in time with an error that says what kind it is, and the other nine
// answer rightly and hold nothing more than before.
package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/fault"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// others is how many servers stand beside the bad.
const others = 9

// rig is an instance with its servers.
type rig struct {
	t        *testing.T
	in       *testkit.Instance
	proxies  []*fault.Proxy // before each of the bad
	bad      []*upstreams.Server
	good     []*upstreams.Server
	deadline time.Duration // of calls of the bad
	client   *http.Client
}

func newRig(t *testing.T, deadline time.Duration, bad ...upstreams.Way) *rig {
	t.Helper()
	r := &rig{t: t, deadline: deadline, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}}}
	t.Cleanup(r.client.CloseIdleConnections)
	for i := range others {
		r.good = append(r.good, upstreams.Start(t, upstreams.Ways()[i%len(upstreams.Ways())]))
	}
	for _, way := range bad {
		p := upstreams.Start(t, way)
		proxy := fault.New(t, p.Addr)
		proxy.Delay = 2 * deadline
		r.bad, r.proxies = append(r.bad, p), append(r.proxies, proxy)
	}
	r.in = testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	for i, p := range r.bad {
		r.add(badID(i), r.proxies[i].URL, p.Way, deadline)
	}
	for i, p := range r.good {
		r.add(serverID(i), p.URL, p.Way, 20*time.Second)
	}
	return r
}

func serverID(i int) string { return fmt.Sprintf("good%d", i) }
func badID(i int) string    { return fmt.Sprintf("bad%d", i) }

// set puts every bad server under a fault.
func (r *rig) set(k fault.Kind) {
	r.t.Helper()
	for _, p := range r.proxies {
		p.Set(k)
	}
}

// met is how many exchanges have met a fault, for each bad server.
func (r *rig) met() []int {
	var all []int
	for _, p := range r.proxies {
		all = append(all, p.Met())
	}
	return all
}

func (r *rig) add(id, url string, way upstreams.Way, deadline time.Duration) {
	r.t.Helper()
	body := fmt.Sprintf(`{"id":%q,"url":%q,"transport":%q,"call_timeout":%q}`, id, url, way.Transport(), deadline)
	if a := r.in.Do(r.t, "POST", "/api/v1/servers", body); a.Status != http.StatusCreated {
		r.t.Fatalf("%s: %d %s", id, a.Status, a.Body)
	}
}

// endpoint is a way in.
type endpoint int

const (
	endpointModern endpoint = iota // /mcp, 2026-07-28
	endpointAdmin                  // the call of the admin API
	endpointCall                   // /mcp/call
	endpoints
)

// codeBridge is the error of a call that the bridge made: it says no code, but
// its status tells a call that failed from one that was refused.
const codeBridge junctor.Code = "failed"

// outcome is how a call ended.
type outcome struct {
	code junctor.Code // "" is a result
	text string       // of the result, or what the error says
	took time.Duration
}

// call calls a server's tag through an endpoint. It never fails the test itself.
func (r *rig) call(ctx context.Context, d endpoint, server string, tag upstreams.Tag) outcome {
	arguments, _ := json.Marshal(tag)
	begun := time.Now()
	var body, path string
	header := http.Header{"Authorization": {"Bearer " + testkit.AdminKey}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	switch d {
	case endpointAdmin:
		path, body = "/api/v1/tools/"+server+"__tag/call", fmt.Sprintf(`{"arguments":%s}`, arguments)
	case endpointCall:
		path, body = "/mcp/call", fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":"tag","arguments":%s,"timeout_ms":%d}`, server, arguments, r.deadline.Milliseconds())
		if !strings.HasPrefix(server, "bad") {
			body = strings.Replace(body, `"timeout_ms":`, `"x":`, 1)
		}
	default:
		path = "/mcp"
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"%s__tag","arguments":%s,"_meta":{%q:%q,%q:{},"progressToken":%q}}}`,
			tag.Nonce, server, arguments, wire.MetaProtocolVersion, wire.ModernVersion, wire.MetaClientCapabilities, tag.Nonce)
		header.Set(wire.HeaderProtocolVersion, wire.ModernVersion)
		header.Set(wire.HeaderMethod, wire.MethodToolsCall)
		header.Set(wire.HeaderName, server+"__tag")
	}
	status, answer, err := r.post(ctx, path, body, header)
	out := outcome{took: time.Since(begun)}
	if err != nil {
		out.code, out.text = "no answer", err.Error()
		return out
	}
	out.code, out.text = readOutcome(d, status, answer)
	return out
}

func (r *rig) post(ctx context.Context, path, body string, header http.Header) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.in.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header = header
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// readOutcome gives what an answer of an endpoint says: the text of a result, or the code.
func readOutcome(d endpoint, status int, body string) (junctor.Code, string) {
	type result struct {
		Content []struct{ Text string }
		IsError bool
	}
	var a struct {
		result
		Result *result
		Error  json.RawMessage
		Code   junctor.Code
		Detail string
	}
	if at := strings.LastIndex(body, "data: "); at >= 0 {
		body = body[at+len("data: "):]
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return "no JSON", fmt.Sprintf("%d %q", status, body)
	}
	if a.Result == nil {
		a.Result = &a.result
	}
	switch {
	case a.Code != "":
		return a.Code, a.Detail
	case a.Error != nil && d == endpointCall:
		if status == http.StatusInternalServerError && !strings.Contains(string(a.Error), "internal error") {
			return codeBridge, string(a.Error)
		}
		return junctor.Code(fmt.Sprint("status ", status)), string(a.Error)
	case a.Error != nil:
		var e struct {
			Message string
			Data    struct{ Code junctor.Code }
		}
		_ = json.Unmarshal(a.Error, &e)
		if e.Data.Code == "" {
			e.Data.Code = "an error without a code"
		}
		return e.Data.Code, e.Message
	case len(a.Result.Content) == 1 && !a.Result.IsError:
		return "", a.Result.Content[0].Text
	}
	return "no result", body
}

// heldResources is what an instance holds for its servers.
type heldResources struct {
	goroutines int   // of the instance
	files      int   // of the process: the instance, the servers, the proxy and the clients
	conns      []int // open, to each of the others
	sessions   []int // links, to each of the others
	bad        []int // connections to each of the bad
}

func (r *rig) measureHeld() heldResources {
	r.client.CloseIdleConnections()
	for _, p := range slices.Concat(r.good, r.bad) {
		p.CloseIdle()
	}
	h := heldResources{goroutines: goroutines(), files: files()}
	for _, p := range r.proxies {
		p.CloseIdle()
		h.bad = append(h.bad, p.Open())
	}
	for i, p := range r.good {
		h.conns = append(h.conns, p.Open())
		var s struct{ Status junctor.ServerStatus }
		if err := json.Unmarshal([]byte(r.in.Do(r.t, "GET", "/api/v1/servers/"+serverID(i), "").Body), &s); err != nil {
			r.t.Fatal(err)
		}
		h.sessions = append(h.sessions, s.Status.Sessions+s.Status.Parked)
	}
	http.DefaultClient.CloseIdleConnections()
	return h
}

// compareHeld says what is held beyond before; "" is nothing.
func (h heldResources) compareHeld(before heldResources) string {
	var all []string
	add := func(what string, was, is int) {
		if is > was {
			all = append(all, fmt.Sprintf("%s: %d, before %d", what, is, was))
		}
	}
	add("goroutines", before.goroutines, h.goroutines)
	add("files", before.files, h.files)
	for i := range h.bad {
		add("connections to "+badID(i), before.bad[i], h.bad[i])
	}
	for i := range h.conns {
		add("connections to "+serverID(i), before.conns[i], h.conns[i])
		add("sessions with "+serverID(i), before.sessions[i], h.sessions[i])
	}
	return strings.Join(all, "; ")
}

// goroutines counts those of the instance: whatever one of our packages began
// or has on its stack, those for tests apart.
func goroutines() int {
	buf := make([]byte, 8<<20)
	buf = buf[:runtime.Stack(buf, true)]
	n := 0
	for one := range strings.SplitSeq(string(buf), "\n\n") {
		one = strings.ReplaceAll(one, "junctor/internal/testkit", "")
		if strings.Contains(one, "junctor/internal/") {
			n++
		}
	}
	return n
}

// files counts open files; 0 where the system does not say.
func files() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// load calls the others all the while, each by one caller after the other, and
// keeps how long they took.
type load struct {
	stop  context.CancelFunc
	wg    sync.WaitGroup
	mu    sync.Mutex
	took  []time.Duration
	wrong []string
}

func (r *rig) load(pause time.Duration) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel}
	for i := range r.good {
		l.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				nonce := fmt.Sprintf("good-%d-%d-%d", i, n, time.Now().UnixNano())
				out := r.call(context.Background(), endpoint(n)%endpoints, serverID(i), upstreams.Tag{Nonce: nonce, Steps: n % 3})
				l.mu.Lock()
				l.took = append(l.took, out.took)
				if out.code != "" || out.text != nonce {
					l.wrong = append(l.wrong, fmt.Sprintf("%s answered %q with %s %q", serverID(i), nonce, out.code, out.text))
				}
				l.mu.Unlock()
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	return l
}

// end stops the load and gives what it saw.
func (l *load) end() (took []time.Duration, wrong []string) {
	l.stop()
	l.wg.Wait()
	return l.took, l.wrong
}
