package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type none struct{}

func newServer(tb testing.TB) *Server {
	tb.Helper()
	s, err := New("test", "Test", Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// sampleRequest asks the client's model to answer a prompt.
func sampleRequest(key, prompt string, maxTokens int) InputRequest {
	params := fmt.Sprintf(`{"messages":[{"role":"user","content":%s}],"maxTokens":%d}`, Text(prompt), maxTokens)
	return InputRequest{Key: key, Method: methodSample, Params: json.RawMessage(params)}
}

// rootsRequest asks for the folders that the client has opened.
func rootsRequest(key string) InputRequest { return InputRequest{Key: key, Method: methodRoots} }

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

func call(tb testing.TB, s *Server, req catalog.Request) (catalog.Result, error) {
	tb.Helper()
	if req.Kind == "" {
		req.Kind = junctor.KindTool
	}
	return s.Do(context.Background(), &req, &recorder{})
}

// wantBody fails unless body is the same JSON as want.
func wantBody(tb testing.TB, body []byte, want string) {
	tb.Helper()
	var got, expected any
	if err := json.Unmarshal(body, &got); err != nil {
		tb.Fatalf("body %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		tb.Errorf("body (-want +got):\n%s", diff)
	}
}

func wantCode(tb testing.TB, err error, want junctor.Code) {
	tb.Helper()
	if err != nil && reflect.TypeOf(err) != reflect.TypeFor[*junctor.Error]() {
		tb.Errorf("error %v is a %T: the contract wants *junctor.Error", err, err)
	}
	if got := junctor.CodeOf(err); got != want {
		tb.Errorf("code %q (%v), want %q", got, err, want)
	}
}
