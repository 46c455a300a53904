package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// manyTools is a server with 500 tools of about the usual length.
func manyTools() http.Handler {
	var list strings.Builder
	for i := range 500 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"tool_%04d","description":"A tool, which says in a line or two what it is good for, as tools do, and for whom it was made.",`+
			`"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What comes back, as it was sent."},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many lines come back at most."},`+
			`"labels":{"type":"array","items":{"type":"string"},"description":"Words that the answer is filed under."}},"required":["text"]}}`, i)
	}
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`,
		"tools/list": `{"tools":[` + list.String() + `]}`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if result, ok := results[m.Method]; ok {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	})
}

// A start of an instance that knows 5000 tools of ten servers.
func BenchmarkStart(b *testing.B) {
	settings := testkit.Settings{"data-dir": b.TempDir(), "egress-allow": "127.0.0.0/8", "exposure": "all"}
	srv := httptest.NewServer(manyTools())
	defer srv.Close()
	first := testkit.Start(b, settings)
	for i := range 10 {
		body := fmt.Sprintf(`{"id":"s%d","url":%q}`, i, srv.URL)
		if r := first.Do(b, http.MethodPost, "/api/v1/servers", body); r.Status != http.StatusCreated {
			b.Fatalf("status %d, %s", r.Status, r.Body)
		}
	}
	first.Stop()
	b.ReportAllocs()
	for b.Loop() {
		i := testkit.Start(b, settings)
		r := i.Do(b, http.MethodGet, "/mcp/tools", "")
		if n := strings.Count(r.Body, `"inputSchema"`); n < 5000 {
			b.Fatalf("%d tools", n)
		}
		b.StopTimer()
		i.Stop()
		b.StartTimer()
	}
}
