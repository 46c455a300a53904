package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewLogger(t *testing.T) {
	t.Parallel()
	tests := []struct {
		level, format string
		lines         int // of the four below
	}{
		{"debug", "json", 4},
		{"info", "json", 3},
		{"", "", 3},
		{"WARN", "TEXT", 2},
		{"error", "text", 1},
	}
	for _, tt := range tests {
		t.Run(tt.level+"/"+tt.format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log, err := telemetry.NewLogger(&out, tt.level, tt.format)
			if err != nil {
				t.Fatal(err)
			}
			log.Debug("m", telemetry.KeyTool, "echo")
			log.Info("m", telemetry.KeyTool, "echo")
			log.Warn("m", telemetry.KeyTool, "echo")
			log.Error("m", telemetry.KeyTool, "echo")
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != tt.lines {
				t.Errorf("%d lines, want %d:\n%s", len(lines), tt.lines, &out)
			}
			if isJSON := json.Valid([]byte(lines[0])); isJSON != (tt.format == "json") {
				t.Errorf("format is wrong: %s", lines[0])
			}
		})
	}
	for _, bad := range [][2]string{{"loud", "text"}, {"info", "xml"}} {
		if _, err := telemetry.NewLogger(io.Discard, bad[0], bad[1]); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%v was taken: %v", bad, err)
		}
	}
}

func TestErr(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("m", telemetry.ErrorAttr(&junctor.Error{Code: junctor.CodeDenied, Message: "no", Cause: errors.New("because")}), telemetry.ErrorAttr(nil))
	for _, want := range []string{"error.message=no", "error.code=denied", "error.cause=because"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in %s", want, &out)
		}
	}
}

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.2.3", GoVersion: "go1"})
	r := m.Route("demo__echo")
	r.CountCall(junctor.StatusSuccess, 700*time.Microsecond)
	r.CountCall(junctor.StatusSuccess, 40*time.Second)
	r.CountCall(junctor.StatusDenied, 0)
	r.CountCall("made up", 0)
	for _, s := range []junctor.Status{
		junctor.StatusError, junctor.StatusTimeout, junctor.StatusCanceled, junctor.StatusLimited, junctor.StatusInvalid, junctor.StatusLapsed,
	} {
		m.Route("demo__all").CountCall(s, time.Second)
	}
	m.Route("demo__never") // no call, no series
	m.CountUnauthenticated()
	level := 1.0
	if err := m.AddGauge("junctor_level", "How high.", func() float64 { return level }); err != nil {
		t.Fatal(err)
	}
	if err := m.AddGauge("junctor_level", "Again.", func() float64 { return 0 }); err == nil {
		t.Error("a name was added twice")
	}
	level = 7

	got := scrape(t, m)
	wantLines(
		t, got,
		`mcp_calls_total{status="success",tool_name="demo__echo"} 2`,
		`mcp_calls_total{status="denied",tool_name="demo__echo"} 1`,
		`mcp_calls_total{status="error",tool_name="demo__echo"} 1`,
		`mcp_calls_total{status="error",tool_name="demo__all"} 1`,
		`mcp_calls_total{status="timeout",tool_name="demo__all"} 1`,
		`mcp_calls_total{status="canceled",tool_name="demo__all"} 1`,
		`mcp_calls_total{status="limited",tool_name="demo__all"} 1`,
		`mcp_calls_total{status="invalid",tool_name="demo__all"} 1`,
		`mcp_calls_total{status="lapsed",tool_name="demo__all"} 1`,
		`mcp_call_duration_seconds_bucket{tool_name="demo__echo",le="0.0005"} 1`,
		`mcp_call_duration_seconds_bucket{tool_name="demo__echo",le="0.001"} 2`,
		`mcp_call_duration_seconds_bucket{tool_name="demo__echo",le="30"} 2`,
		`mcp_call_duration_seconds_bucket{tool_name="demo__echo",le="+Inf"} 3`,
		`junctor_unauthenticated_total 1`,
		`junctor_level 7`,
		`junctor_build_info{go_version="go1",version="1.2.3"} 1`,
	)
	if !strings.Contains(got, "\ngo_goroutines ") {
		t.Error("the runtime's metrics are missing")
	}
	if strings.Contains(got, "demo__never") {
		t.Error("a tool that was never called has series")
	}
}

func TestMetricsAreApart(t *testing.T) {
	t.Parallel()
	a, b := telemetry.NewMetrics(telemetry.MetricsOptions{}), telemetry.NewMetrics(telemetry.MetricsOptions{})
	a.CountUnauthenticated()
	wantLines(t, scrape(t, b), "junctor_unauthenticated_total 0")
}

func TestNamesAreCapped(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{MaxNames: 10})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				m.Route(fmt.Sprintf("tool%d", i)).CountCall(junctor.StatusSuccess, time.Millisecond)
			}
		})
	}
	wg.Wait()
	first, again := m.Route("tool3"), m.Route("tool3")
	if first != again || m.Route("new") != m.Route("newer") {
		t.Error("routes are not shared")
	}
	got := scrape(t, m)
	if n := strings.Count(got, "\nmcp_calls_total{"); n != 11 {
		t.Errorf("%d series of calls, want 10 names and other", n)
	}
	wantLines(t, got, `mcp_calls_total{status="success",tool_name="other"} 3960`)
}

// Names that callers choose use up a part of the names alone.
func TestAdhocNamesAreCapped(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{MaxNames: 10})
	for i := range 100 {
		m.Route(fmt.Sprintf("adhoc__tool%d", i)).CountCall(junctor.StatusSuccess, time.Millisecond)
	}
	m.Route("demo__echo").CountCall(junctor.StatusSuccess, time.Millisecond)
	wantLines(t, scrape(t, m), `mcp_calls_total{status="success",tool_name="adhoc__tool0"} 1`, `mcp_calls_total{status="success",tool_name="adhoc__tool1"} 1`,
		`mcp_calls_total{status="success",tool_name="demo__echo"} 1`, `mcp_calls_total{status="success",tool_name="other"} 98`)
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsOptions{})
	r := m.Route("demo__echo")
	_, tracer, err := telemetry.StartTracing(t.Context(), telemetry.TracingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.CountCall(junctor.StatusSuccess, 0)
	n := testing.AllocsPerRun(1000, func() {
		ctx, span := tracer.Start(t.Context(), "tools/call")
		if ctx != t.Context() {
			t.Error("the context grew")
		}
		span.End()
		r.CountCall(junctor.StatusSuccess, time.Millisecond)
		m.CountUnauthenticated()
	})
	if n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	tests := []struct {
		name, parent, state string
		valid               bool
	}{
		{"whole", "00-" + id + "-b7ad6b7169203331-01", "vendor=1", true},
		{"without state", "00-" + id + "-b7ad6b7169203331-00", "", true},
		{"absent", "", "vendor=1", false},
		{"not one", "hello", "", false},
		{"all zero", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "", false},
		{"upper case", "00-" + strings.ToUpper(id) + "-b7ad6b7169203331-01", "", false},
		{"forbidden version", "ff-" + id + "-b7ad6b7169203331-01", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := telemetry.ExtractTrace(t.Context(), tt.parent, tt.state)
			sc := trace.SpanContextFromContext(ctx)
			if sc.IsValid() != tt.valid {
				t.Fatalf("valid is %v", sc.IsValid())
			}
			if tt.valid && (sc.TraceID().String() != id || sc.TraceState().String() != tt.state || !sc.IsRemote()) {
				t.Errorf("got %v %v", sc.TraceID(), sc.TraceState())
			}
		})
	}
}

// gaugeCollector takes spans over OTLP/HTTP and remembers the requests.
func gaugeCollector(t *testing.T, status int) (url string, client *http.Client, got func() []string) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		if !bytes.Contains(body, []byte("tools/call")) || !bytes.Contains(body, []byte("junctor")) {
			paths = append(paths, "a body without the span or the service's name")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, srv.Client(), func() []string { mu.Lock(); defer mu.Unlock(); return paths }
}

func TestTracing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, want string
		status           int
		warns            bool
	}{
		{"no path", "", "/v1/traces", 200, false},
		{"a path of its own", "/otlp/v1/traces", "/otlp/v1/traces", 200, false},
		{"a collector that refuses", "", "/v1/traces", 400, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, client, got := gaugeCollector(t, tt.status)
			var out bytes.Buffer
			shutdown, tracer, err := telemetry.StartTracing(t.Context(), telemetry.TracingOptions{
				Endpoint: url + tt.path, Client: client, Logger: slog.New(slog.NewTextHandler(&out, nil)), Version: "1",
			})
			if err != nil {
				t.Fatal(err)
			}
			_, span := tracer.Start(t.Context(), "tools/call")
			span.End()
			if err := shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			if paths := got(); len(paths) != 1 || paths[0] != tt.want {
				t.Errorf("the collector saw %q", paths)
			}
			if warned := strings.Contains(out.String(), "cannot export traces"); warned != tt.warns {
				t.Errorf("log: %s", &out)
			}
		})
	}
}

func TestTracingRefuses(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for _, endpoint := range []string{"127.0.0.1:4318", "grpc://x", "http://", "://"} {
		_, _, err := telemetry.StartTracing(t.Context(), telemetry.TracingOptions{Endpoint: endpoint, Client: &http.Client{}, Logger: log})
		if junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, _, err := telemetry.StartTracing(t.Context(), telemetry.TracingOptions{Endpoint: "http://127.0.0.1:1", Logger: log}); err == nil {
		t.Error("tracing without a client was started: the library would make its own")
	}
}
