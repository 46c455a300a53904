package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSetNamesTheVersionThatWasRead holds commands that read an agent and store it
// changed to naming the version that they read: two of them at once would lose one of
// the tools.
func TestSetNamesTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	const agent = `{"name":"qa","role":"QA","tools":["notes/read"],"resources":[],"prompts":[],"brain":{"model":"small"},"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05.12Z"}`
	for name, c := range map[string]struct {
		args  []string
		match string
		exit  int
	}{
		"a tool more":            {[]string{"--add-tool", "notes/write"}, `"2026-01-02T03:04:05.12Z"`, exitChanged},
		"other instructions":     {[]string{"--instructions", "Be kind."}, `"2026-01-02T03:04:05.12Z"`, exitChanged},
		"what needs no reading":  {[]string{"--off"}, "", exitOK},
		"no brain needs neither": {[]string{"--no-brain"}, "", exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodPatch {
					if got := r.Header.Get("If-Match"); got != c.match {
						t.Errorf("If-Match: %s, want %s", got, c.match)
					}
					if c.match != "" { // somebody else was faster
						w.WriteHeader(http.StatusPreconditionFailed)
						_, _ = w.Write([]byte(`{"code":"precondition","detail":"the agent \"qa\" was changed by ada"}`))
						return
					}
				}
				_, _ = w.Write([]byte(agent))
			}))
			t.Cleanup(srv.Close)
			var out, errs bytes.Buffer
			exit := Main(t.Context(), append([]string{"agent", "set", "qa"}, c.args...), []string{"JUNCTOR_URL=" + srv.URL, "JUNCTOR_KEY=k", "HOME=" + t.TempDir()}, strings.NewReader(""), &out, &errs)
			if exit != c.exit || exit != exitOK && !strings.Contains(errs.String(), "changed by ada") {
				t.Errorf("exit %d, want %d: %s%s", exit, c.exit, out.String(), errs.String())
			}
		})
	}
}
