package builtin

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type none struct{}

func newServer(t testing.TB) *Server {
	t.Helper()
	s, err := New("test", "Test", Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorder is a sink that keeps what it is given.
type recorder struct {
	mu       sync.Mutex
	progress []string
	logs     []string
}

func (r *recorder) Progress(params []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, string(params))
}

func (r *recorder) Log(level string, params []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, level+" "+string(params))
}

func call(t testing.TB, s *Server, req catalog.Request) (catalog.Result, error) {
	t.Helper()
	if req.Kind == "" {
		req.Kind = junctor.KindTool
	}
	return s.Do(context.Background(), &req, &recorder{})
}

// wantBody fails unless body is the same JSON as want.
func wantBody(t testing.TB, body []byte, want string) {
	t.Helper()
	var got, expected any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func wantCode(t testing.TB, err error, want junctor.Code) {
	t.Helper()
	if _, ok := err.(*junctor.Error); err != nil && !ok {
		t.Errorf("error %v is a %T: the contract wants *junctor.Error", err, err)
	}
	if got := junctor.CodeOf(err); got != want {
		t.Errorf("code %q (%v), want %q", got, err, want)
	}
}
