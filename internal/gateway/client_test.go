package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// meta is the _meta of a modern request, with more members behind the required.
func meta(more ...string) string {
	m := []string{`"` + wire.MetaProtocolVersion + `":"` + wire.ModernVersion + `"`}
	caps := `"` + wire.MetaClientCapabilities + `":{}`
	for i, s := range more {
		if strings.HasPrefix(s, `"`+wire.MetaClientCapabilities) {
			caps, more = s, append(more[:i:i], more[i+1:]...)
			break
		}
	}
	return `"_meta":{` + strings.Join(append(append(m, caps), more...), ",") + `}`
}

func capabilities(caps string) string { return `"` + wire.MetaClientCapabilities + `":` + caps }

// request writes a JSON-RPC request; params are the members of its params.
func request(id, method string, params ...string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + strings.Join(params, ",") + `}}`
}

// mirrored are the headers that a modern client sends with a body.
func mirrored(t testing.TB, body string) []string {
	t.Helper()
	var m wire.Message
	if err := m.Parse([]byte(body)); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	h := []string{wire.HeaderProtocolVersion + ": " + m.MetaVersion, wire.HeaderMethod + ": " + m.Method}
	switch {
	case m.HasName:
		h = append(h, wire.HeaderName+": "+wire.EncodeHeader(m.Name))
	case m.Method == wire.MethodResourcesRead:
		h = append(h, wire.HeaderName+": "+wire.EncodeHeader(m.URI))
	}
	return h
}

// post sends a modern request with the headers that belong to it; header lines
// replace those, or take them away.
func post(t testing.TB, i *testkit.Instance, body string, header ...string) testkit.Reply {
	t.Helper()
	return i.Do(t, http.MethodPost, "/mcp", body, append(mirrored(t, body), header...)...)
}

// session is a legacy client after its handshake.
type session struct {
	i       *testkit.Instance
	path    string
	id      string
	version string
	key     string // "" is the admin key
}

func initializeBody(version, caps string) string {
	return request("0", "initialize", `"protocolVersion":"`+version+`"`, `"capabilities":`+caps, `"clientInfo":{"name":"test","version":"1"}`)
}

// open does the handshake.
func open(t testing.TB, i *testkit.Instance, version, caps, key string) *session {
	t.Helper()
	s := &session{i: i, path: "/mcp", version: version, key: key}
	r := s.do(t, http.MethodPost, initializeBody(version, caps))
	if s.id = r.Header.Get("Mcp-Session-Id"); r.Status != http.StatusOK || s.id == "" {
		t.Fatalf("initialize: %d %s", r.Status, r.Body)
	}
	if r := s.do(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.Status != http.StatusAccepted {
		t.Fatalf("initialized: %d %s", r.Status, r.Body)
	}
	return s
}

// headers are those that every request of the session has.
func (s *session) headers(more ...string) []string {
	h := []string{}
	if s.id != "" {
		h = append(h, "Mcp-Session-Id: "+s.id, "MCP-Protocol-Version: "+s.version)
	}
	if s.key != "" {
		h = append(h, "Authorization: Bearer "+s.key)
	}
	return append(h, more...)
}

func (s *session) do(t testing.TB, method, body string, header ...string) testkit.Reply {
	t.Helper()
	return s.i.Do(t, method, s.path, body, s.headers(header...)...)
}

func (s *session) post(t testing.TB, body string, header ...string) testkit.Reply {
	t.Helper()
	return s.do(t, http.MethodPost, body, header...)
}

// newKey makes a key with these scopes.
func newKey(t testing.TB, i *testkit.Instance, scopes ...string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": "test", "scopes": scopes})
	if err != nil {
		t.Fatal(err)
	}
	r := i.Do(t, http.MethodPost, "/api/v1/keys", string(body))
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(r.Body), &made); err != nil || r.Status != http.StatusCreated || made.Key == "" {
		t.Fatalf("key: %d %s", r.Status, r.Body)
	}
	return made.Key
}

// run starts an instance with what every instance has.
func run(t testing.TB, s testkit.Settings, opts ...app.Option) *testkit.Instance {
	t.Helper()
	i := testkit.Start(t, s, opts...)
	// A connection that was opened and never used would hold up the shutdown.
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return i
}

// stop ends an instance before its test does.
func stop(i *testkit.Instance) {
	http.DefaultClient.CloseIdleConnections()
	i.Stop()
}

// startDemo runs an instance that has the demo server and no other, so that its
// lists are known byte for byte.
func startDemo(t testing.TB, s testkit.Settings) *testkit.Instance {
	t.Helper()
	i := run(t, s)
	var servers struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(i.Do(t, http.MethodGet, "/api/v1/servers", "").Body), &servers); err != nil {
		t.Fatal(err)
	}
	for _, server := range servers.Items {
		if server.ID == "demo" {
			continue
		}
		if r := i.Do(t, http.MethodPatch, "/api/v1/servers/"+server.ID, `{"state":"inactive"}`); r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	return i
}

// answer is a JSON-RPC answer, read loosely.
type answer struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func parse(t testing.TB, body string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return a
}

// text is the first text of a result's content.
func (a answer) text() string {
	list, _ := a.Result["content"].([]any)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(map[string]any)
	s, _ := first["text"].(string)
	return s
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}
