package limits

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

const (
	groupMemory  = 512 << 20 // that the instance has to live in
	largeResult  = 30 << 20
	largeCalls   = 64
	calmMemory   = 256 << 20 // below which it has to be again afterwards
	inFlight     = groupMemory / 4
	perCaller    = 65 << 20
	collectorEnv = "GOMEMLIMIT=384MiB"
)

// largeServer is an MCP server whose one tool answers with largeResult bytes, with
// their length or in chunks.
func largeServer(t *testing.T) string {
	t.Helper()
	text := bytes.Repeat([]byte("0123456789abcdef"), largeResult/16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Chunks bool } }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}}`, m.ID)
		case "tools/list":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"large","inputSchema":{"type":"object","properties":{"chunks":{"type":"boolean"}}}}]}}`, m.ID)
		case "tools/call":
			head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			const tail = `"}]}}`
			if !m.Params.Arguments.Chunks {
				w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(text)+len(tail)))
			}
			for _, part := range [][]byte{[]byte(head), text, []byte(tail)} {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		default:
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// memoryGroup makes a control group with groupMemory, of version 2 or 1; "" where
// none can be made.
func memoryGroup(t *testing.T) string {
	t.Helper()
	roots := map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes"}
	if controllers, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil && strings.Contains(string(controllers), "memory") {
		roots = map[string]string{"/sys/fs/cgroup": "memory.max"}
	}
	for root, limit := range roots {
		group := filepath.Join(root, "junctor-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		// There may be no swap, and no accounting of it.
		_ = os.WriteFile(filepath.Join(group, "memory.swap.max"), []byte("0"), 0o600)
		_ = os.WriteFile(filepath.Join(group, "memory.swappiness"), []byte("0"), 0o600)
		if os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(groupMemory)), 0o600) == nil {
			return group
		}
	}
	return ""
}

// smallMachine starts an instance that has groupMemory: in a control group where one
// can be made, and else with what such a group would have it use, so that its peak
// can be held against the same number.
func smallMachine(t *testing.T) (in *program.Instance, inGroup bool) {
	t.Helper()
	spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir()}
	group := memoryGroup(t)
	if group != "" {
		t.Logf("in the control group %s with %d MiB", group, groupMemory>>20)
		spec.Prefix = []string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, group, program.Binary(t)}
	} else {
		t.Logf("no control group can be made here: with %s and the settings that %d MiB give, and the peak of resident memory measured", collectorEnv, groupMemory>>20)
		spec.Env = []string{collectorEnv, fmt.Sprintf("JUNCTOR_MAX_IN_FLIGHT=%d", inFlight), fmt.Sprintf("JUNCTOR_MAX_IN_FLIGHT_PER_CALLER=%d", perCaller)}
	}
	in = program.Launch(t, spec)
	in.WaitReady(t)
	return in, group != ""
}

// memoryOf reads a line of /proc/PID/status, in bytes.
func memoryOf(t *testing.T, pid int, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the instance did not survive: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("/proc/%d/status has no %s", pid, name)
	return 0
}

// TestLargeResultsAtOnce holds that an instance with 512 MiB survives 64 results of
// 30 MiB at a time: every call has a result or a refusal that names the setting, and
// the memory is given back afterwards.
func TestLargeResultsAtOnce(t *testing.T) {
	t.Parallel()
	in, inGroup := smallMachine(t)
	in.Add(t, "large", largeServer(t))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: largeCalls}, Timeout: patience}
	t.Cleanup(client.CloseIdleConnections)
	var mu sync.Mutex
	var wg sync.WaitGroup
	results, refusals := 0, 0
	for i := range largeCalls {
		wg.Go(func() {
			path := []string{"/mcp/request", "/mcp"}[i/2%2]
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"large__large","arguments":{"chunks":%t}}}`, i, i%2 == 1)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.URL+path, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header = http.Header{"Authorization": {"Bearer " + program.AdminKey}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			resp, err := client.Do(req)
			if err != nil {
				t.Errorf("call %d was not answered: %v", i, err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			var first [4 << 10]byte
			n, err := io.ReadFull(resp.Body, first[:])
			rest, restErr := io.Copy(io.Discard, resp.Body)
			mu.Lock()
			defer mu.Unlock()
			switch text := string(first[:n]); {
			case restErr == nil && int64(n)+rest > largeResult && strings.Contains(text, `"result"`):
				results++
			case restErr == nil && strings.Contains(text, `"error"`) && strings.Contains(text, "--max-in-flight"):
				refusals++
			default:
				t.Errorf("call %d: %d, %d bytes, %v, %v: %.300s", i, resp.StatusCode, int64(n)+rest, err, restErr, text)
			}
		})
	}
	wg.Wait()
	peak := memoryOf(t, in.PID(), "VmHWM")
	t.Logf("%d results and %d refusals; at its peak the instance had %d MiB", results, refusals, peak>>20)
	if results == 0 {
		t.Error("no call had a result")
	}
	if !inGroup && peak > groupMemory {
		t.Errorf("at its peak the instance had %d MiB, more than %d", peak>>20, groupMemory>>20)
	}
	poll.Until(t, "memory is given back", patience, func() bool { return memoryOf(t, in.PID(), "VmRSS") < calmMemory })
	t.Logf("afterwards it has %d MiB", memoryOf(t, in.PID(), "VmRSS")>>20)
	poll.Until(t, "it still answers", patience, func() bool {
		resp, err := client.Get(in.URL + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}
