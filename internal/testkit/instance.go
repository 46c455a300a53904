// Package testkit holds what tests share: real instances on loopback, and ways
// to talk to them. Only tests import it; it may import anything.
package testkit

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// AdminKey is the admin key of every test instance.
const AdminKey = "test-admin-key-0123456789"

// Instance is a whole Junctor in this process, on a port of its own.
type Instance struct {
	App *app.App
	URL string
	Dir string
	Log *Log

	stop func()
}

// Settings are settings by their flag names, on top of what Start sets; config
// names a settings file.
type Settings map[string]string

// Start runs an instance until the test ends. It has its own data directory,
// unless the settings name one, and AdminKey.
func Start(t testing.TB, s Settings, opts ...app.Option) *Instance {
	t.Helper()
	// Tests leave calls that never end.
	flags := map[string]string{"listen": "127.0.0.1:0", "rate-limit": "0", "drain-calls": "5s", "builtin": "demo,ocr"}
	if s["data-dir"] == "" {
		flags["data-dir"] = t.TempDir()
		storetest.Seed(t, filepath.Join(flags["data-dir"], "junctor.db"))
	}
	maps.Copy(flags, s)
	env := map[string]string{"JUNCTOR_ADMIN_KEY": AdminKey}
	file := flags["config"]
	delete(flags, "config")
	cfg, err := config.Load(config.Sources{Flags: flags, File: file, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatalf("settings: %v", err)
	}
	i := &Instance{Dir: flags["data-dir"], Log: &Log{}}
	i.App, err = app.New(t.Context(), cfg, "test", append([]app.Option{app.WithLog(i.Log)}, opts...)...)
	if err != nil {
		t.Fatalf("app: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := i.App.Listen(ctx); err != nil {
		t.Fatalf("listen: %v", err)
	}
	i.URL = "http://" + i.App.Addr()
	done := make(chan error, 1)
	go func() { done <- i.App.Run(ctx) }()
	i.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := i.App.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(i.Stop)
	return i
}

// At is an instance that something else runs, with AdminKey, on a data directory: it
// takes requests.
func At(url, dir string) *Instance {
	return &Instance{URL: url, Dir: dir, Log: &Log{}, stop: func() {}}
}

// Stop ends the instance; the test's end does so too.
func (i *Instance) Stop() { i.stop() }

// Reply is an HTTP answer, read whole.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request with the admin key. header lines are "Name: value"; an
// empty value takes a header away.
func (i *Instance) Do(t testing.TB, method, path, body string, header ...string) Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	resp := i.Open(ctx, t, method, path, body, header...)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return Reply{resp.StatusCode, resp.Header, string(b)}
}

// Open is Do for answers that do not end by themselves: the caller closes the
// body, or ends ctx.
func (i *Instance) Open(ctx context.Context, t testing.TB, method, path, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, i.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminKey)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); value == "" {
			req.Header.Del(name)
		} else if strings.EqualFold(name, "Host") {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// Log keeps what an instance logged.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer. It is safe for concurrent use.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
