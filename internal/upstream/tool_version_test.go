package upstream

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// TestVersionsOfUpstreamTools holds that the versions which a server declares for a
// tool are offered, and that the one that is called is passed on.
func TestVersionsOfUpstreamTools(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var called []string
	s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m wire.Message
		_ = m.Parse(body)
		w.Header().Set("Content-Type", "application/json")
		answer := func(result string) { _, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(result))) }
		switch m.Method {
		case wire.MethodServerDiscover:
			answer(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case wire.MethodToolsList:
			answer(`{"resultType":"complete","tools":[` +
				`{"name":"echo","inputSchema":{"type":"object","required":["text"]},"_meta":{"junctor/version":"2","junctor/versions":["1","2",7,"2","3-beta"]}},` +
				`{"name":"plain","inputSchema":{"type":"object"},"_meta":{"junctor/version":2}}]}`)
		case wire.MethodToolsCall:
			mu.Lock()
			called = append(called, m.ToolVersion)
			mu.Unlock()
			answer(`{"resultType":"complete","content":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})))
	offer, err := s.Offer(ctxFor(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, def := range offer.Tools {
		line := def.Name + " " + def.Version + " " + string(wire.Get(def.JSON, "inputSchema"))
		if def.Default {
			line += " default"
		}
		got = append(got, line)
	}
	want := []string{`echo 1 {"type":"object"}`, `echo 2 {"type":"object","required":["text"]} default`, `echo 3-beta {"type":"object"}`, `plain  {"type":"object"}`}
	if len(got) != len(want) {
		t.Fatalf("offered: %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	for _, version := range []string{"1", "2", ""} {
		req := toolCall("echo", `{"text":"x"}`)
		req.Version, req.Meta = version, []byte(`{"junctor/version":"what the caller asked for"}`)
		do(t, s, req)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(called) != 3 || called[0] != "1" || called[1] != "2" || called[2] != "" {
		t.Errorf("the server was asked for the versions %q", called)
	}
}
