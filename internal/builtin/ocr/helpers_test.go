package ocr

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onePixel is a real PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func pixel(t testing.TB) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const dataURI = "data:image/png;base64," + onePixel

// rig is a server with all it stands on; every answer is searched for canaries.
type rig struct {
	t      testing.TB
	server *builtin.Server
	log    *output.Buffer
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	r := &rig{t: t, log: &output.Buffer{}}
	o.Logger = slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Client == nil {
		o.Client = outward(t, o.Logger, netip.MustParsePrefix("127.0.0.0/8"))
	}
	var err error
	if r.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.silent("log", r.log.String()) })
	return r
}

// outward is a client as app makes it.
func outward(t testing.TB, log *slog.Logger, allow ...netip.Prefix) *http.Client {
	t.Helper()
	e, err := egress.New(egress.Options{Logger: log, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	c := e.Client(egress.ClientOptions{Timeout: time.Minute, MaxBytes: MaxAnswer})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (r *rig) silent(where, text string) {
	r.t.Helper()
	if strings.Contains(text, "CANARY") || strings.Contains(text, "PRIVATE KEY") {
		r.t.Errorf("a secret is in the %s: %s", where, text)
	}
}

func (r *rig) do(ctx context.Context, tool string, arguments map[string]any) (catalog.Result, error) {
	r.t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.server.Do(ctx, &catalog.Request{
		Kind: junctor.KindTool, Name: tool, Arguments: b, Principal: &junctor.Principal{Tenant: "acme"},
	}, nil)
	r.silent("result", string(res.Body))
	for e := err; e != nil; {
		r.silent("error", e.Error())
		w, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = w.Unwrap()
	}
	return res, err
}

// vision calls google_vision_ocr; credentials "" are left out.
func (r *rig) vision(image, credentials string) (catalog.Result, error) {
	r.t.Helper()
	arguments := map[string]any{"image_path": image}
	if credentials != "" {
		arguments["credentials_json"] = credentials
	}
	return r.do(r.t.Context(), "google_vision_ocr", arguments)
}

func wantText(t testing.TB, res catalog.Result, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ StructuredContent any }
	var expected any
	if err := json.Unmarshal(res.Body, &body); err != nil || res.IsError {
		t.Fatalf("%s: %v", res.Body, err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, body.StructuredContent); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// wantFailed fails unless the tool answered that it tried in vain, with words.
func wantFailed(t testing.TB, res catalog.Result, err error, words ...string) {
	t.Helper()
	if err != nil || !res.IsError {
		t.Fatalf("got %s, %v; want a result that says what failed", res.Body, err)
	}
	wantWords(t, string(res.Body), words)
}

// wantRefused fails unless the call was refused with the code and the words,
// and, when argument is not "", with a violation of it.
func wantRefused(t testing.TB, res catalog.Result, err error, code junctor.Code, argument string, words ...string) {
	t.Helper()
	if err == nil || junctor.CodeOf(err) != code {
		t.Fatalf("got %s, %v (%s); want %s", res.Body, err, junctor.CodeOf(err), code)
	}
	e := junctor.AsError(err)
	if argument != "" && (len(e.Violations) != 1 || e.Violations[0].Pointer != "/"+argument) {
		t.Errorf("violations %v, want one of %s", e.Violations, argument)
	}
	wantWords(t, err.Error(), words)
}

func wantWords(t testing.TB, text string, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in: %s", w, text)
		}
	}
}

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *rig) slog() *slog.Logger { return slog.New(slog.NewJSONHandler(r.log, nil)) }

// resultOf is the result of what gave none.
func resultOf(body []byte) catalog.Result { return catalog.Result{Body: body} }
