package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// asTests makes Run start this test binary in place of the program.
func asTests() Options {
	return Options{
		Junctor: []string{os.Args[0], "play-up"}, Child: []string{os.Args[0], "play-child"},
		Pairs: 1, Starts: 1, Duration: 100 * time.Millisecond,
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var progress bytes.Buffer
	r, err := Run(t.Context(), asTests(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Answers; a.Bad() > 0 || a.Right == 0 {
		t.Errorf("answers: %+v", a)
	}
	const twins = 2 // both eras
	if len(r.Points) != len(points()) || len(r.Rows) != 2*len(points())+twins {
		t.Fatalf("%d points and %d rows, want %d and twice as many and %d", len(r.Points), len(r.Rows), len(points()), twins)
	}
	for _, p := range r.Points {
		if p.Answers.Right == 0 {
			t.Errorf("%s: no answers", p.Name)
		}
		if busy := strings.HasPrefix(p.Name, "call 200B C=32"); busy != (p.Twin != nil) {
			t.Errorf("%s: twin %+v", p.Name, p.Twin)
		}
	}
	for _, row := range r.Rows {
		if goal := strings.HasPrefix(row.Name, "call 200B C=32") && row.Against != Rev; goal != (row.Goal != nil) {
			t.Errorf("%s of %s: goal %+v", row.Name, row.Against, row.Goal)
		}
		if row.Against == Twin && !strings.HasPrefix(row.Name, "call 200B C=32") {
			t.Errorf("%s is measured against the twin", row.Name)
		}
		if !strings.Contains(row.Name, "C=1 ") {
			continue // a busy machine may not get far with many connections in so short a time
		}
		for name, s := range map[string]Stat{"throughput": row.Ratio.Throughput, "p50": row.Ratio.P50, "p99": row.Ratio.P99, "control": row.Control.Throughput} {
			if s.N != 1 || s.Median <= 0 {
				t.Errorf("%s of %s: %s = %+v", row.Name, row.Against, name, s)
			}
		}
		if runtime.GOOS == "linux" && row.Ratio.CPU.N != 1 {
			t.Errorf("%s of %s: no CPU", row.Name, row.Against)
		}
	}
	figures := []string{"ready, fresh data directory", "ready, existing data directory", "ready, raw (the same program)"}
	if runtime.GOOS == "linux" {
		figures = append(figures, "memory, idle", "memory, C=32")
	}
	for _, name := range figures {
		if !slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Name == name && f.Value.N > 0 && f.Value.Median > 0 }) {
			t.Errorf("no figure %q in %+v", name, r.Figures)
		}
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil || len(back.Rows) != len(r.Rows) || back.Failures == nil {
		t.Errorf("the report does not survive JSON: %v, %.300s", err, b)
	}
	t.Logf("%s\n%s", progress.String(), table.String())
}

func TestRunSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Options)
		code   junctor.Code
		say    string
	}{
		{"negative", func(o *Options) { o.Pairs = -1 }, junctor.CodeInvalid, "negative"},
		{"unknown point", func(o *Options) { o.Points = []string{"nowhere"} }, junctor.CodeInvalid, "call 200B C=1 legacy"},
		{"no program", func(o *Options) { o.Junctor = []string{"/no/such/junctor"} }, junctor.CodeNotFound, "/no/such/junctor"},
		{"does not start", func(o *Options) { o.Junctor[1] = "play-down" }, junctor.CodeUnavailable, "no database; the key is [key]"},
		{"no twin", func(o *Options) { o.Twin = []string{os.Args[0], "play-down"} }, junctor.CodeUnavailable, "twin ended before it was ready"},
		{"no such tool", func(o *Options) { o.Tool = "demo__gone" }, junctor.CodeNotFound, "demo__gone"},
		{"children do not start", func(o *Options) { o.Child = []string{os.Args[0], "play-down"} }, junctor.CodeUnavailable, "raw did not say its address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := asTests()
			c.change(&o)
			r, err := Run(t.Context(), o, io.Discard)
			if r != nil || junctor.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say) {
				t.Errorf("Run = %v, %v; want %s and %q", r, err, c.code, c.say)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := asTests()
	o.Duration = time.Hour
	// Memory is the first thing said after all that is started was seen to start.
	_, err := Run(ctx, o, writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("memory")) || runtime.GOOS != "linux" {
			cancel()
		}
		return len(b), nil
	}))
	if junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("Run = %v, want canceled", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestDefaults(t *testing.T) {
	t.Parallel()
	full, all, err := Options{}.complete()
	if err != nil || full.Pairs != 8 || full.Duration != 600*time.Millisecond || full.Junctor[1] != "up" || full.Child[1] != "bench-child" ||
		!slices.Equal(full.Twin, append(full.Child, Twin)) || len(all) != len(points()) {
		t.Errorf("%+v, %d points, %v", full, len(all), err)
	}
	short, one, err := Options{Short: true, Pairs: 5, Points: PointNames()[1:2]}.complete()
	if err != nil || short.Pairs != 5 || short.Duration >= full.Duration || short.Starts >= full.Starts || len(one) != 1 || one[0].Name != PointNames()[1] {
		t.Errorf("%+v, %v, %v", short, one, err)
	}
}

func TestChildRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"dance"}, {"rev"}, {"echo", "-list", filepath.Join(t.TempDir(), "none")}, {"load", "-x"}} {
		if err := child(t.Context(), args, strings.NewReader(""), io.Discard); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("child(%q) = %v, want invalid", args, err)
		}
	}
	if err := child(t.Context(), []string{"load"}, strings.NewReader("{no job"), io.Discard); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("load takes nonsense: %v", err)
	}
}

func TestChildEndsWithItsInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"echo"}, {"rev", "-to", "127.0.0.1:1"}, {"load"}} {
		if err := child(t.Context(), args, strings.NewReader(""), io.Discard); err != nil {
			t.Errorf("child(%q) = %v", args, err)
		}
	}
}

// The yardsticks must hold up themselves: a slow or wrong one flatters Junctor.
func TestYardsticksAnswerRight(t *testing.T) {
	t.Parallel()
	raw := httptest.NewServer(&echo{list: []byte(`{"tools":[{"name":"demo__echo"}]}`)})
	t.Cleanup(raw.Close)
	rev := httptest.NewServer(newRev(raw.Listener.Addr().String()))
	t.Cleanup(func() { rev.Close(); rev.CloseClientConnections() })
	for name, srv := range map[string]*httptest.Server{Raw: raw, Rev: rev} {
		for _, p := range points() {
			j := aJob(srv, p.Version, min(p.Conns, 8))
			j.Method, j.ArgBytes = p.Method, p.ArgBytes
			if r, err := j.run(t.Context()); err != nil || r.Answers.Bad() > 0 || r.Answers.Right == 0 {
				t.Errorf("%s, %s: %+v, %v", name, p.Name, r, err)
			}
		}
	}
	for _, c := range []struct {
		method, body string
		status       int
	}{
		{http.MethodGet, "", http.StatusMethodNotAllowed},
		{http.MethodPost, "{", http.StatusBadRequest},
		{http.MethodPost, strings.Repeat(" ", maxBody+1), http.StatusBadRequest},
		{http.MethodPost, `{"method":"notifications/initialized"}`, http.StatusAccepted},
	} {
		w := httptest.NewRecorder()
		(&echo{}).ServeHTTP(w, httptest.NewRequest(c.method, "/mcp", strings.NewReader(c.body)))
		if w.Code != c.status {
			t.Errorf("%s %.20q: status %d, want %d", c.method, c.body, w.Code, c.status)
		}
	}
}
