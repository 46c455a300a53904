package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A script learns from the exit code whether an agent's endpoint was found.
func TestChainFindReportsMatches(t *testing.T) {
	t.Parallel()
	const agent = "eip155:1:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432/42"
	for name, c := range map[string]struct {
		found string
		exit  int
		says  string
	}{
		"an endpoint":        {`{"agent":"` + agent + `","endpoint":"https://a.example/mcp","blocked":[],"problems":[]}`, exitOK, "https://a.example/mcp"},
		"a server of ours":   {`{"agent":"` + agent + `","server":"mine","blocked":[],"problems":[]}`, exitOK, agent},
		"nothing":            {`{"agent":"` + agent + `","reason":"the agent does not expose MCP","blocked":[],"problems":[]}`, exitNotFound, "does not expose MCP"},
		"nothing, as a JSON": {`{"agent":"` + agent + `","reason":"the agent does not expose MCP","blocked":[],"problems":[]}`, exitNotFound, `"reason"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.found))
			}))
			t.Cleanup(srv.Close)
			args := []string{"chain", "find", agent}
			if strings.HasSuffix(name, "JSON") {
				args = append(args, "--format", "json")
			}
			var out, errs bytes.Buffer
			exit := Main(t.Context(), args, []string{"JUNCTOR_URL=" + srv.URL, "JUNCTOR_KEY=k", "HOME=" + t.TempDir()}, strings.NewReader(""), &out, &errs)
			if exit != c.exit || !strings.Contains(out.String(), c.says) {
				t.Errorf("exit %d, want %d: %s%s", exit, c.exit, out.String(), errs.String())
			}
		})
	}
}
