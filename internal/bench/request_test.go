package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRequestMatchesItsHead(t *testing.T) {
	t.Parallel()
	for _, p := range listPoints(fewTools, manyTools) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			j := job{
				Endpoint: endpoint{Addr: "127.0.0.1:1", Path: "/mcp", Key: "1000000000secret"},
				Version:  p.Version, Method: p.Method, Tool: "demo__echo", Argument: "text", ArgBytes: p.ArgBytes,
			}
			s := session{version: p.Version}
			if p.Version == versionLegacy {
				s.id = "session-1000000000" // looks like an id, and must stay
			}
			req := newRequest(j, s, "cafe0000")
			size := len(req.bytes)
			seen := map[string]bool{}
			for id := uint64(firstID); id < firstID+3; id++ {
				req.writeID(id)
				text := checkRequest(t, req.bytes, p, s, id)
				if p.Method == methodCall && (seen[text] || len(text) != p.ArgBytes || string(req.want) != text) {
					t.Errorf("text %.40q of %d bytes, want a new one of %d", text, len(text), p.ArgBytes)
				}
				seen[text] = true
			}
			if len(req.bytes) != size {
				t.Error("stamping changed the length")
			}
		})
	}
}

// checkRequest reads a request with the standard library; it returns the text.
func checkRequest(t *testing.T, raw []byte, p Point, s session, id uint64) string {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		ID     uint64 `json:"id"`
		Method string `json:"method"`
		Params struct {
			Meta      map[string]any    `json:"_meta"`
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v in %.200q", err, body)
	}
	h := r.Header
	if m.ID != id || m.Method != p.Method || h.Get("Authorization") != "Bearer 1000000000secret" || h.Get("Mcp-Session-Id") != s.id || h.Get("Mcp-Protocol-Version") != p.Version {
		t.Errorf("id %d, method %q, headers %v", m.ID, m.Method, h)
	}
	if modern := p.Version == versionModern; modern != (h.Get("Mcp-Method") == p.Method) || modern != (len(m.Params.Meta) == 3) || modern && h.Get("Mcp-Name") != m.Params.Name {
		t.Errorf("headers %v and _meta %v do not fit the era", h, m.Params.Meta)
	}
	return m.Params.Arguments["text"]
}

func TestJudge(t *testing.T) {
	t.Parallel()
	call := newRequest(job{Method: methodCall, Tool: "demo__echo", Argument: "text", ArgBytes: 64}, session{version: versionLegacy}, "cafe0000")
	call.writeID(firstID + 7)
	list := newRequest(job{Method: methodList, Tool: "demo__echo"}, session{version: versionLegacy}, "cafe0000")
	list.writeID(firstID + 7)
	text := string(call.want)
	for _, c := range []struct {
		name   string
		req    *request
		status int
		body   string
		want   outcome
	}{
		{"right", call, 200, `{"result":{"content":[{"text":"` + text + `"}]}}`, outcomeRight},
		{"status", call, 500, text, outcomeFailed},
		{"tool error", call, 200, `{"isError":true,"x":"` + text + `"}`, outcomeFailed},
		{"protocol error", call, 200, `{"error":{"message":"` + text + `"}}`, outcomeFailed},
		{"empty", call, 200, ``, outcomeWrong},
		{"other words", call, 200, `{"result":{"content":[{"text":"hello"}]}}`, outcomeWrong},
		{"cut", call, 200, text[:len(text)-1], outcomeWrong},
		{"another call's", call, 200, strings.Replace(text, "0007~", "0008~", 1), outcomeCrossed},
		{"another load's", call, 200, strings.Replace(text, "cafe", "beef", 1), outcomeWrong},
		{"list", list, 200, fmt.Sprintf(`{"id":%d,"result":{"tools":[{"name":"demo__echo"}]}}`, firstID+7), outcomeRight},
		{"list of another call", list, 200, fmt.Sprintf(`{"id":%d,"result":{"tools":[{"name":"demo__echo"}]}}`, firstID+8), outcomeWrong},
		{"empty list", list, 200, fmt.Sprintf(`{"id":%d,"result":{"tools":[]}}`, firstID+7), outcomeWrong},
	} {
		if got := c.req.judgeAnswer(answer{status: c.status, body: []byte(c.body)}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
