package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func answering(t *testing.T, status int, contentType, body string) *adminClient {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer k" {
			t.Errorf("Authorization %q", got)
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return &adminClient{http: srv.Client(), baseURL: srv.URL, key: "k", name: "the instance"}
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		code   junctor.Code
		exit   int
		says   string
	}{
		{"not found", 404, `{"code":"not_found","detail":"no tool x"}`, junctor.CodeNotFound, exitNotFound, "no tool x"},
		{"denied", 403, `{"code":"denied","detail":"this operation requires the scope admin"}`, junctor.CodeDenied, exitDenied, "scope admin"},
		{"unauthenticated", 401, `{"code":"unauthenticated","detail":"no key"}`, junctor.CodeUnauthenticated, exitDenied, "no key"},
		{"limited", 429, `{"code":"limited","detail":"too many"}`, junctor.CodeLimited, exitFailed, "try again in 3s"},
		{"invalid", 422, `{"code":"invalid","detail":"wrong","errors":[{"in":"arguments","pointer":"/a","message":"odd"},{"in":"body","pointer":"/b","message":"no"}]}`, junctor.CodeInvalid, exitUsage, "\n  /a: odd"},
		{"server unreachable", 502, `{"code":"unreachable","detail":"cannot dial"}`, junctor.CodeUnreachable, exitUnreachable, "cannot dial"},
		{"somebody else", 404, `<html>nginx</html>`, junctor.CodeUpstream, exitFailed, "is not a Junctor"},
		{"not JSON", 200, `hello`, junctor.CodeUpstream, exitFailed, "not of this API"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out map[string]any
			err := answering(t, tt.status, "application/problem+json", tt.body).get(t.Context(), "/x", &out)
			if got := junctor.CodeOf(err); got != tt.code {
				t.Errorf("code %s, want %s (%v)", got, tt.code, err)
			}
			if got := exitCode(&failure{err: err}); got != tt.exit {
				t.Errorf("exit %d, want %d", got, tt.exit)
			}
			if got := formatError(err); !strings.Contains(got, tt.says) {
				t.Errorf("%q says nothing of %q", got, tt.says)
			}
		})
	}
}

func TestClientWithoutAnInstance(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	err := (&adminClient{http: http.DefaultClient, baseURL: srv.URL, name: srv.URL}).get(t.Context(), "/x", nil)
	if exitCode(&failure{err: err}) != exitUnreachable || !strings.Contains(err.Error(), srv.URL) || strings.Count(err.Error(), srv.URL) != 1 {
		t.Errorf("%v", err)
	}
	err = (&adminClient{http: http.DefaultClient, baseURL: srv.URL, hint: "start it"}).get(t.Context(), "/x", nil)
	if err.Error() != "start it" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&adminClient{http: http.DefaultClient, baseURL: srv.URL}).get(ctx, "/x", nil); junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("unknown flag: --x"), exitUsage}, // as cobra says it
		{&failure{err: usageErrorf("no")}, exitUsage},
		{&failure{err: errors.New("disk full")}, exitFailed},
		{silentFailure("enough"), exitFailed},
		{&failure{err: junctor.Errorf(junctor.CodeInternal, "x")}, exitFailed},
	}
	for _, tt := range tests {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v: exit %d, want %d", tt.err, got, tt.want)
		}
	}
}

// What breaks off must not pass for an export.
func TestCopyNoticesTheEnd(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<16)))
		if r.URL.Path == "/api/v1/cut" {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	c := &adminClient{http: srv.Client(), baseURL: srv.URL, name: "the instance"}
	var out strings.Builder
	if err := c.copyTo(t.Context(), "/whole", &out); err != nil || out.Len() != 1<<16 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
	if err := c.copyTo(t.Context(), "/cut", io.Discard); junctor.CodeOf(err) != junctor.CodeUpstream || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("%v", err)
	}
	full := errors.New("disk full")
	if err := c.copyTo(t.Context(), "/whole", writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := answering(t, 404, "application/problem+json", `{"code":"not_found","detail":"no"}`).copyTo(t.Context(), "/x", &out); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("%v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestWriteWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	c := &cli{}
	broken := errors.New("broken")
	if err := c.writeNewFile(file, func(w io.Writer) error { _, _ = w.Write([]byte("half")); return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := c.writeNewFile(file, func(w io.Writer) error { _, err := w.Write([]byte("one")); return err }); err != nil {
		t.Fatal(err)
	}
	never := func(io.Writer) error { t.Error("written over what is there"); return nil }
	if err := c.writeNewFile(file, never); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("%v", err)
	}
	// Somebody else is faster.
	other := filepath.Join(dir, "g")
	if err := c.writeNewFile(other, func(io.Writer) error { return os.WriteFile(other, []byte("theirs"), 0o600) }); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{file: "one", other: "theirs"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{"90d": "2026-04-10T12:00:00Z", "12h": "2026-01-11T00:00:00Z", "2030-01-01T00:00:00Z": "2030-01-01T00:00:00Z", "-1h": "", "soon": "", "d": "", "0d": ""} {
		at, err := parseExpiry(in, now)
		if got := at.Format(time.RFC3339); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("expiry %q: %s, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{"": "", "1d": "2026-01-09T12:00:00Z", "15m": "2026-01-10T11:45:00Z"} {
		if got, err := formatMoment("since", in, now); got != want || err != nil {
			t.Errorf("since %q: %s, %v; want %q", in, got, err, want)
		}
	}
	if _, err := formatMoment("since", "yesterday", now); err == nil {
		t.Error("since yesterday was taken")
	}
}

// A list is read to its end; a path with a limit asks for one page.
func TestLongListIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{"": `{"items":["a","b"],"next":"x&y"}`, "x&y": `{"items":["c"],"next":"z"}`, "z": `{"items":[]}`}[r.URL.Query().Get("cursor")]
		if r.URL.Query().Get("q") != "1" || page == "" {
			t.Errorf("unexpected request %s", r.URL)
		}
		_, _ = io.WriteString(w, page)
	}))
	defer s.Close()
	c := &adminClient{http: s.Client(), baseURL: s.URL, name: "test"}
	for path, want := range map[string]string{"/list?q=1": "a b c", "/list?q=1&limit=2": "a b"} {
		var list listPage[string]
		if err := c.get(t.Context(), path, &list); err != nil || strings.Join(list.Items, " ") != want {
			t.Errorf("%s: %q, %v", path, list.Items, err)
		}
	}
}
