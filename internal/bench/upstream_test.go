package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// The yardsticks must hold up themselves: a slow or wrong one flatters Junctor.
func TestYardsticksAnswerRight(t *testing.T) {
	t.Parallel()
	serving := func(h http.Handler) *httptest.Server {
		srv := httptest.NewServer(h)
		t.Cleanup(func() { srv.Close(); srv.CloseClientConnections() })
		return srv
	}
	before := func(srv *httptest.Server) *httptest.Server {
		return serving(newReverseProxy(srv.Listener.Addr().String()))
	}
	legacy, modern := serving(newUpstream(false, 10)), serving(newUpstream(true, 10))
	at := map[string]*httptest.Server{
		Direct + eraLegacy: legacy, Direct + eraModern: modern, ReverseProxy + eraLegacy: before(legacy), ReverseProxy + eraModern: before(modern), Raw: serving(&echoServer{}),
	}
	s := testStage{targets: map[string]target{}}
	for name, srv := range at {
		s.targets[name] = target{nil, endpoint{Addr: srv.Listener.Addr().String(), Path: "/mcp"}}
	}
	for _, p := range listPoints(10, 20) {
		for _, yard := range p.listYardsticks() {
			target, tool := s.targetFor(yard, p)
			if yard == Unrecorded || yard == Ungated || yard == NetHTTP || p.Tools == 20 {
				continue
			}
			j := job{
				Endpoint: target.endpoint, Version: p.Version, Method: p.Method, Tool: tool, Argument: toolArgument, ArgBytes: p.ArgBytes,
				Conns: min(p.Conns, 8), Run: "cafe0000", Duration: 30 * time.Millisecond,
			}
			if r, err := j.runLoad(t.Context()); err != nil || r.Answers.Bad() > 0 || r.Answers.Right == 0 {
				t.Errorf("%s, %s: %+v, %v", yard, p.Name, r, err)
			}
		}
	}
	for name, h := range map[string]http.Handler{Raw: &echoServer{}, Direct: newUpstream(false, 1)} {
		for _, c := range []struct {
			method, body string
			status       int
		}{
			{http.MethodGet, "", http.StatusMethodNotAllowed},
			{http.MethodPost, strings.Repeat(" ", maxBody+1), http.StatusBadRequest},
			{http.MethodPost, `{"method":"notifications/initialized"}`, http.StatusAccepted},
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(c.method, "/mcp", strings.NewReader(c.body)))
			if w.Code != c.status {
				t.Errorf("%s: %s %.20q: status %d, want %d", name, c.method, c.body, w.Code, c.status)
			}
		}
	}
}

func TestUpstreamAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		modern bool
		msg    string
		want   string // part of the answer; "" is none
		hello  bool
	}{
		{"call", false, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\"b"}}}`, `"id":7,"result":{"content":[{"type":"text","text":"a\"b"}]}`, false},
		{"modern call", true, `{"id":"x","method":"tools/call","params":{"arguments":{"text":"hi"},"name":"echo"}}`, `"id":"x","result":{"resultType":"complete","content"`, false},
		{"no text", false, `{"id":1,"method":"tools/call","params":{"name":"echo"}}`, `"text":""`, false},
		{"hello", false, `{"id":1,"method":"initialize","params":{}}`, versionLegacy, true},
		{"hello of the other era", true, `{"id":1,"method":"initialize"}`, `-32601`, false},
		{"discover", true, `{"id":1,"method":"server/discover"}`, versionModern, false},
		{"discover of the other era", false, `{"id":1,"method":"server/discover"}`, `-32601`, false},
		{"list", true, `{"id":1,"method":"tools/list"}`, `{"name":"tool_0002",`, false},
		{"ping", false, `{"id":1,"method":"ping"}`, `"result":{}`, false},
		{"notification", false, `{"method":"notifications/initialized"}`, ``, false},
		{"nonsense", false, `{"id":`, `-32700`, false},
	} {
		got, list, hello := newUpstream(c.modern, 3).appendAnswer(nil, []byte(c.msg))
		if list != nil {
			got = append(append(got, list...), '}')
		}
		if !strings.Contains(string(got), c.want) || (c.want == "") != (len(got) == 0) || hello != c.hello || len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s: %v, %s", c.name, hello, got)
		}
	}
}

func TestUpstreamOnPipes(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	long := strings.Repeat("x", 300<<10) // more than the reader holds
	in := `{"id":1,"method":"tools/call","params":{"arguments":{"text":"a"}}}` + "\n\n" +
		`{"method":"notifications/initialized"}` + "\n" + `{"id":2,"method":"tools/call","params":{"arguments":{"text":"` + long + `"}}}`
	var out bytes.Buffer
	if err := runChild(t.Context(), []string{"upstream", "-stdio", "-mark", mark, "legacy:2"}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"id":1`) || !strings.Contains(lines[1], long) {
		t.Errorf("%d answers: %.200q", len(lines), lines)
	}
	r := benchRun{dir: filepath.Dir(mark)}
	if err := os.Rename(mark, r.marksDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := r.countChildren(); n != want || err != nil {
			t.Errorf("%d starts, %v, want %d", n, err, want)
		}
	}
}

func TestChildRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"dance"}, {"rev"}, {"silent"}, {"upstream"}, {"upstream", "old:1"}, {"upstream", "legacy:0"}, {"upstream", "legacy"}, {"load", "-x"}} {
		if err := runChild(t.Context(), args, strings.NewReader(""), io.Discard); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("child(%q) = %v, want invalid", args, err)
		}
	}
	if err := runChild(t.Context(), []string{"load"}, strings.NewReader("{no job"), io.Discard); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("load takes nonsense: %v", err)
	}
	if err := runChild(t.Context(), []string{"silent", "127.0.0.1:x"}, strings.NewReader(""), io.Discard); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("silent at no address: %v", err)
	}
}

func TestChildEndsWithItsInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args      []string
		addresses int
	}{
		{[]string{"echo"}, 1},
		{[]string{"upstream", "legacy:1", "modern:2"}, 2},
		{[]string{"rev", "127.0.0.1:1", "127.0.0.1:2"}, 2},
		{[]string{"silent", "127.0.0.1:0"}, 1},
		{[]string{"load"}, 0},
	} {
		var out bytes.Buffer
		if err := runChild(t.Context(), c.args, strings.NewReader(""), &out); err != nil {
			t.Errorf("child(%q) = %v", c.args, err)
		}
		if n := len(strings.Fields(out.String())); n != c.addresses {
			t.Errorf("child(%q) said %q, want %d addresses", c.args, out.String(), c.addresses)
		}
	}
}
