package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/hostile"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

const (
	hostileMemory   = 200 << 20
	hostileDeadline = 60 * time.Second // of the list of all tools, far above what it takes on a machine of one's own
	// callDeadline is that of each call, as the server's settings say.
	callDeadline = 10 * time.Second
	// callMargin is how long after its deadline the answer to a call may come on a
	// machine of one's own. On a loaded one it is more: see marginOf.
	callMargin = 2 * time.Second
	// leastHostile is how many schemas and documents the long form runs at least.
	leastHostile = 200
)

// hostileCases are all schemas and documents in the long form. The short form has
// every family, in turns of sizes.
func hostileCases(t *testing.T) (schemas, documents []hostile.Case) {
	t.Helper()
	schemas, documents = hostile.Schemas(), hostile.Documents()
	all := len(schemas) + len(documents)
	if !program.Long() {
		schemas, documents = sampleCases(schemas, 5), sampleCases(documents, 8)
	} else if all < leastHostile {
		t.Fatalf("%d schemas and documents", all)
	}
	t.Logf("%d of %d hostile schemas and documents are run", len(schemas)+len(documents), all)
	return schemas, documents
}

// marginOf is how long after its deadline an answer may come on this machine now.
// harmless makes a call that costs nothing: what it takes is what the machine has
// others do.
func marginOf(harmless func()) time.Duration {
	slowest := time.Duration(0)
	for range 20 {
		begun := time.Now()
		harmless()
		slowest = max(slowest, time.Since(begun))
	}
	return callMargin + 20*slowest
}

// answeredBadly says whether a status is none that a hostile call may have. 504 is
// an answer: checking ended by its own deadline.
func answeredBadly(status int) bool {
	return status < http.StatusOK || status >= http.StatusInternalServerError && status != http.StatusBadGateway && status != http.StatusGatewayTimeout
}

// listHostile is an MCP server that lists a tool for each schema, one a page.
func listHostile(t *testing.T, cases []hostile.Case) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(body, &in) != nil || in.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"content":[{"type":"text","text":"ok"}]}`
		switch in.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"}}`
		case "tools/list":
			i, _ := strconv.Atoi(in.Params.Cursor)
			tool := fmt.Sprintf(`{"name":"t%d","inputSchema":%s}`, i, cases[i].Text)
			if i%2 == 1 {
				tool = fmt.Sprintf(`{"name":"t%d","inputSchema":%s,"outputSchema":%s}`, i, cases[i].Text, cases[i].Text)
			}
			next := fmt.Sprintf(`,"nextCursor":"%d"`, i+1)
			if i+1 == len(cases) {
				tool, next = tool+`,{"name":"good","inputSchema":{"type":"object"}}`, ""
			}
			result = `{"tools":[` + tool + `]` + next + `}`
		case "tools/call", "ping":
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, in.ID)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// memoryWatch samples how much memory the objects of the program take.
type memoryWatch struct {
	base, peak atomic.Uint64
	at         atomic.Value
	stop, done chan struct{}
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func watchMemory() *memoryWatch {
	runtime.GC()
	m := &memoryWatch{stop: make(chan struct{}), done: make(chan struct{})}
	m.base.Store(heapBytes())
	m.at.Store("")
	go func() {
		defer close(m.done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		worst := uint64(0)
		for {
			select {
			case <-m.stop:
				return
			case <-tick.C:
				if now := heapBytes(); now > worst {
					worst = now
					m.peak.Store(max(m.peak.Load(), now))
				}
			}
		}
	}()
	return m
}

// more is how much the peak was above the beginning, since the last question.
func (m *memoryWatch) more() uint64 {
	peak := m.peak.Load()
	return peak - min(peak, m.base.Load())
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Schemas and documents that try to exhaust the instance are answered in time,
// take bounded memory, and nothing of them goes on afterwards.
func TestHostileSchemasAndDocuments(t *testing.T) { //nolint:paralleltest // it measures
	schemas, documents := hostileCases(t)
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	address := listHostile(t, schemas)
	http.DefaultClient.CloseIdleConnections()
	goroutines := runtime.NumGoroutine()
	watch := watchMemory()
	// As in a small container: else the collector lets garbage grow to more than what
	// is in use, and garbage counts here.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(watch.base.Load()) + hostileMemory*3/4))
	slowest, slowestName := time.Duration(0), ""
	type late struct {
		name string
		took time.Duration
		cpu  time.Duration
	}
	var lates []late // judged in the end, when it is known how slow the machine is
	ask := func(name, method, path, body string, deadline time.Duration) testkit.Reply {
		t.Helper()
		begun, before := time.Now(), processorTime(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*hostileDeadline) // none of the answer's: it must come by itself
		defer cancel()
		resp := in.Open(ctx, t, method, path, body)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		took := time.Since(begun)
		if took > slowest {
			slowest, slowestName = took, name
		}
		if took > deadline+callMargin {
			lates = append(lates, late{name, took - deadline, processorTime(t) - before})
		}
		return testkit.Reply{Status: resp.StatusCode, Body: string(text)}
	}

	if a := ask("list", http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":"bad","url":%q,"transport":"http","call_timeout":%q}`, address, callDeadline), hostileDeadline); a.Status != http.StatusCreated {
		t.Fatalf("%d %.500s", a.Status, a.Body)
	}
	var detail struct {
		Tools    []string
		Problems []struct{ Tool, Effect, Reason string }
	}
	if err := json.Unmarshal([]byte(ask("detail", http.MethodGet, "/api/v1/servers/bad", "", callDeadline).Body), &detail); err != nil {
		t.Fatal(err)
	}
	leftOut := 0
	for _, p := range detail.Problems {
		if p.Effect == "left_out" {
			leftOut++
		}
	}
	if !slices.Contains(detail.Tools, "good") || leftOut == 0 || len(detail.Tools)+leftOut != len(schemas)+1 {
		t.Errorf("%d tools are listed and %d left out of %d", len(detail.Tools), leftOut, len(schemas)+1)
	}
	calls := 0
	for i, c := range schemas {
		for k, arguments := range hostile.Arguments() {
			name := fmt.Sprintf("call %s %d", c.Name, k)
			a := ask(name, http.MethodPost, fmt.Sprintf("/api/v1/tools/bad__t%d/call", i), `{"arguments":`+arguments+`}`, callDeadline)
			if calls++; answeredBadly(a.Status) {
				t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
			}
		}
	}
	afterSchemas := watch.more()
	for _, c := range documents {
		body, err := json.Marshal(map[string]string{"document": c.Text, "base_url": "https://h.example"})
		if err != nil {
			t.Fatal(err)
		}
		if a := ask("document "+c.Name, http.MethodPost, "/api/v1/servers/preview", string(body), callDeadline); a.Status >= http.StatusInternalServerError {
			t.Errorf("document %s: %d %.300s", c.Name, a.Status, a.Body)
		}
	}
	margin := marginOf(func() {
		if a := ask("good", http.MethodPost, "/api/v1/tools/bad__good/call", `{"arguments":{}}`, callDeadline); a.Status != http.StatusOK {
			t.Errorf("a good tool: %d %.300s", a.Status, a.Body)
		}
	})
	for _, l := range lates {
		if l.took > margin {
			t.Errorf("%s was answered %v after its deadline, with %v of processor time; the margin on this machine is %v", l.name, l.took.Round(time.Millisecond), l.cpu.Round(time.Millisecond), margin.Round(time.Millisecond))
		}
	}
	more := watch.more()
	close(watch.stop)
	<-watch.done
	if more > hostileMemory {
		t.Errorf("%d MiB more memory (%d MiB with schemas alone)", more>>20, afterSchemas>>20)
	}
	waitIdle(t, goroutines)
	t.Logf("figure: %d hostile schemas and %d documents, %d calls: the slowest answer after %v (%s), at most %d MiB more memory", len(schemas), len(documents), calls, slowest.Round(time.Millisecond), slowestName, more>>20)
}

// sampleCases takes each n-th case, beginning with another one in each round.
func sampleCases(cases []hostile.Case, n int) (some []hostile.Case) {
	for i := 0; i < len(cases); i += n {
		some = append(some, cases[i])
	}
	return some
}

// waitIdle waits until the program does nothing more, and has no more goroutines
// than before.
func waitIdle(t *testing.T, goroutines int) {
	t.Helper()
	var busy time.Duration
	var now int
	for range 20 {
		http.DefaultClient.CloseIdleConnections()
		before := processorTime(t)
		poll.Pause(500*time.Millisecond, "the processor time of this time is measured")
		busy = processorTime(t) - before
		if now = runtime.NumGoroutine(); busy < 100*time.Millisecond && now <= goroutines+30 { // a few connections with two goroutines each stay open; 36 documents leak more
			return
		}
	}
	t.Errorf("it still works: %v of processor time in half a second, %d goroutines where there were %d", busy, now, goroutines)
}
