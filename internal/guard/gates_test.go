package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

func TestEveryKindRuns(t *testing.T) {
	t.Parallel()
	for name, op := range goodOps() {
		r := newRig(t)
		res, err := r.Do(t.Context(), op, nil)
		if err != nil || len(res.Body) == 0 || !op.Dispatched {
			t.Errorf("%s: %v, ran: %v", name, err, op.Dispatched)
			continue
		}
		id := r.calls[0].ID
		want := fmt.Sprint([]string{"running " + id, "do " + id, "success " + id})
		if got := fmt.Sprint(r.steps); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		start, end := r.calls[0], r.calls[1]
		if start.Server != "srv" || start.Kind != op.Kind || start.EntryPoint != op.EntryPoint || start.Subject != "k1" || start.BytesIn != len(op.Params) {
			t.Errorf("%s: start %+v", name, start)
		}
		if end.BytesOut != len(res.Body) || end.ResultDigest == [32]byte{} || end.Duration < 0 || (op.Arguments == nil) != (start.ArgsDigest == [32]byte{}) {
			t.Errorf("%s: end %+v", name, end)
		}
		if len(r.recorded) != 1 || len(r.observed) != 1 || !strings.HasSuffix(r.observed[0], " success") {
			t.Errorf("%s: recorded %d times, observed %q", name, len(r.recorded), r.observed)
		}
	}
}

// A record has what rules can read of the call.
func TestFactsOfACall(t *testing.T) {
	t.Parallel()
	address := netip.MustParseAddr("192.0.2.1")
	for name, op := range goodOps() {
		r := newRig(t)
		p := *op.Principal
		p.Groups, p.Key = []string{"staff"}, "k7"
		op.Principal, op.Address = &p, address
		if _, err := r.Do(t.Context(), op, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := r.recorded[0].Facts
		if !slices.Equal(f.Groups, p.Groups) || f.Key != "k7" || f.Address != address || (f.Digest != "") != (op.Kind == junctor.KindTool) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestDigests holds what the digests of a record cover: all of the arguments, and
// the beginning of the result.
func TestDigests(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, junctor.DigestedResult - 2, junctor.DigestedResult, 3 * junctor.DigestedResult} {
		r := newRig(t)
		r.backend.answer = []byte(`"` + strings.Repeat("x", size) + `"`)
		op := goodOps()["tool"]
		if _, err := r.Do(t.Context(), op, nil); err != nil {
			t.Fatal(err)
		}
		covered := r.backend.answer[:min(size+2, junctor.DigestedResult)]
		start, end := r.calls[0], r.calls[1]
		if start.ArgsDigest != blake3.Sum256(op.Arguments) || end.ResultDigest != blake3.Sum256(covered) || end.BytesOut != size+2 {
			t.Errorf("%d bytes: %x and %x of %d", size, start.ArgsDigest, end.ResultDigest, end.BytesOut)
		}
	}
}

// refusals are all the ways not to be let through, and for which operations.
func refusals() []refusalStatus {
	every := func(*guard.Op) bool { return true }
	tools := func(op *guard.Op) bool { return op.Kind == junctor.KindTool }
	prefixed := strings.NewReplacer("srv", "other")
	return []refusalStatus{
		{"unknown name", every, func(_ *rig, op *guard.Op) { op.Name = prefixed.Replace(op.Name) }, junctor.CodeNotFound, junctor.StatusInvalid, "unknown"},
		{"no name", every, func(_ *rig, op *guard.Op) { op.Name = "" }, junctor.CodeNotFound, junctor.StatusInvalid, "unknown"},
		{"a view of another server", every, func(_ *rig, op *guard.Op) { op.Scope.Server = "other" }, junctor.CodeNotFound, junctor.StatusInvalid, "unknown"},
		{"not visible", every, func(_ *rig, op *guard.Op) { op.Principal = caller(junctor.ScopeAuditRead) }, junctor.CodeNotFound, junctor.StatusDenied, "neither tools:read"},
		{"no scopes", every, func(_ *rig, op *guard.Op) { op.Principal = caller() }, junctor.CodeNotFound, junctor.StatusDenied, "neither tools:read"},
		{"another tenant", every, func(_ *rig, op *guard.Op) { op.Principal.Tenant = "elsewhere" }, junctor.CodeNotFound, junctor.StatusInvalid, "unknown"},
		{"may look, not call", every, func(_ *rig, op *guard.Op) { op.Principal = caller(junctor.ScopeToolsRead) }, junctor.CodeDenied, junctor.StatusDenied, "tools:call"},
		{"over the limit", every, func(r *rig, op *guard.Op) {
			r.rate = limit.Rate{PerSecond: 0.1, Burst: 1}
			for k := range 3 { // whatever the key is called, its burst is gone
				_, _ = r.Enter(context.Background(), op.Principal, "", "", time.Now().Add(time.Duration(k)))
			}
		}, junctor.CodeLimited, junctor.StatusLimited, "try again in"},
		{"bad state", every, func(_ *rig, op *guard.Op) { op.HasState, op.RequestState = true, "made-up" }, junctor.CodeInvalid, junctor.StatusInvalid, "requestState"},
		{"empty state", every, func(_ *rig, op *guard.Op) { op.HasState = true }, junctor.CodeInvalid, junctor.StatusInvalid, "requestState"},
		{"unknown version", tools, func(_ *rig, op *guard.Op) { op.Version = "9" }, junctor.CodeInvalid, junctor.StatusInvalid, "version"},
		{"headers differ", tools, func(_ *rig, op *guard.Op) {
			op.CheckHeaders = func(*catalog.ToolVersion) error { return junctor.Errorf(junctor.CodeInvalid, "headers differ") }
		}, junctor.CodeInvalid, junctor.StatusInvalid, "headers differ"},
		{"bad arguments", tools, func(_ *rig, op *guard.Op) { op.Arguments = []byte(`{"text":"SECRET"}`) }, junctor.CodeInvalid, junctor.StatusInvalid, "/text"},
		{"no arguments", tools, func(_ *rig, op *guard.Op) { op.Arguments = nil }, junctor.CodeInvalid, junctor.StatusInvalid, "schema at the top"},
	}
}

type refusalStatus struct {
	name   string
	suits  func(*guard.Op) bool
	spoil  func(*rig, *guard.Op)
	code   junctor.Code
	status junctor.Status
	reason string
}

// Every gate refuses before the backend hears of it, with one record.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range refusals() {
		for kind, op := range goodOps() {
			if !tt.suits(op) {
				continue
			}
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				tt.spoil(r, op)
				_, err := r.Do(t.Context(), op, nil)
				var e *junctor.Error
				if !errors.As(err, &e) || e.Code != tt.code {
					t.Fatalf("%v, want %s", err, tt.code)
				}
				if n := r.heard(); n != 0 || op.Dispatched {
					t.Errorf("the backend heard of it %d times, ran: %v", n, op.Dispatched)
				}
				if len(r.calls) != 1 || len(r.recorded) != 1 || len(r.observed) != 1 {
					t.Fatalf("%d records, %d recordings, %d observations", len(r.calls), len(r.recorded), len(r.observed))
				}
				c := r.calls[0]
				if c.Status != tt.status || c.Code != tt.code || !strings.Contains(c.Reason, tt.reason) || c.ID == "" || c.Kind != op.Kind {
					t.Errorf("record %+v", c)
				}
				if strings.Contains(c.Reason, "SECRET") {
					t.Errorf("the record holds a value of the arguments: %s", c.Reason)
				}
				if tt.code == junctor.CodeLimited && (e.RetryAfter <= 0 || e.RetryAfter > 11*time.Second) {
					t.Errorf("retry after %v", e.RetryAfter)
				}
				unknown := strings.HasPrefix(r.observed[0], "unknown ")
				if unknown != (tt.code == junctor.CodeNotFound) {
					t.Errorf("observed %q", r.observed)
				}
			})
		}
	}
}

// What may not be seen answers word for word like what does not exist.
func TestHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	empty := newRig(t)
	empty.catalog.Detach(junctor.DefaultTenant, "srv")
	for name, op := range goodOps() {
		op.Principal = caller(junctor.ScopeAuditRead)
		_, hidden := r.Do(t.Context(), op, nil)
		_, absent := empty.Do(t.Context(), op, nil)
		if hidden == nil || absent == nil || hidden.Error() != absent.Error() || junctor.CodeOf(hidden) != junctor.CodeOf(absent) {
			t.Errorf("%s: hidden %v, absent %v", name, hidden, absent)
		}
	}
}

// What callers make up does not fill the records.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("é", 1<<20)
	for _, op := range goodOps() {
		op.Name = "srv" + long
		_, _ = r.Do(t.Context(), op, nil)
	}
	op := tool("echo", `{"`+long+`":1}`)
	_, _ = r.Do(t.Context(), op, nil)
	op = tool("echo", `{"text":"a"}`)
	op.Version = long
	_, _ = r.Do(t.Context(), op, nil)
	if len(r.calls) != 8 {
		t.Fatalf("%d records", len(r.calls))
	}
	for _, c := range r.calls {
		if len(c.Name) > 256 || len(c.Reason) > 512 || strings.ContainsRune(c.Name+c.Reason, '\uFFFD') {
			t.Errorf("a name of %d and a reason of %d bytes", len(c.Name), len(c.Reason))
		}
	}
}

// A resource that its server does not have is the server's to refuse; its URI
// is no counter.
func TestMadeUpURIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	op := goodOps()["resource"]
	op.Name = "srv+x://made-up"
	if _, err := r.Do(t.Context(), op, nil); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Error(err)
	}
	if got := fmt.Sprint(r.observed); got != "[srv+* error]" {
		t.Error(got)
	}
}

func TestGateOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rate = limit.Rate{PerSecond: 0.001, Burst: 1}
	mirrored := 0
	with := func(op *guard.Op) *guard.Op {
		op.CheckHeaders = func(v *catalog.ToolVersion) error {
			mirrored++
			if v == nil {
				t.Error("mirror without a tool")
			}
			return nil
		}
		return op
	}
	// Neither what is not visible nor what is not allowed is compared.
	op := with(tool("echo", `{"text":"a"}`))
	op.Principal = caller(junctor.ScopeAuditRead)
	_, _ = r.Do(t.Context(), op, nil)
	op.Principal = caller(junctor.ScopeToolsRead)
	_, _ = r.Do(t.Context(), op, nil)
	if mirrored != 0 {
		t.Error("headers were compared before visibility")
	}
	// What the headers refuse takes no token.
	op = with(tool("echo", `{"text":"a"}`))
	op.CheckHeaders = func(*catalog.ToolVersion) error { return junctor.Errorf(junctor.CodeInvalid, "differ") }
	_, _ = r.Do(t.Context(), op, nil)
	// Bad arguments do: the limit stands before the schema.
	if _, err := r.Do(t.Context(), with(tool("echo", `{}`)), nil); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Error(err)
	}
	if _, err := r.Do(t.Context(), with(tool("echo", `{}`)), nil); junctor.CodeOf(err) != junctor.CodeLimited {
		t.Error(err)
	}
	if mirrored != 2 {
		t.Errorf("headers were compared %d times", mirrored)
	}
	if r.heard() != 0 {
		t.Error("the backend heard of it")
	}
}

// Limits are by party: no two share one, whatever their names are made of.
func TestLimitsAreByParty(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rate = limit.Rate{PerSecond: 0.001, Burst: 1}
	for _, who := range [][2]string{{"https://idp", "x/alice"}, {"https://idp/x", "alice"}, {"key", "a"}, {"local", "a"}} {
		op := tool("echo", `{"text":"a"}`)
		op.Principal.Issuer, op.Principal.Subject = who[0], who[1]
		if _, err := r.Do(t.Context(), op, nil); err != nil {
			t.Errorf("%q: %v", who, err)
		}
		if _, err := r.Do(t.Context(), op, nil); junctor.CodeOf(err) != junctor.CodeLimited {
			t.Errorf("%q: %v", who, err)
		}
	}
}

func TestLimitRefills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.rate = limit.Rate{PerSecond: 1, Burst: 2}
		for range 2 {
			if _, err := r.Do(t.Context(), tool("echo", `{"text":"a"}`), nil); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Do(t.Context(), tool("echo", `{"text":"a"}`), nil)
		e := junctor.AsError(err)
		if e == nil || e.Code != junctor.CodeLimited || e.RetryAfter != time.Second {
			t.Fatalf("%v", err)
		}
		time.Sleep(e.RetryAfter)
		if _, err := r.Do(t.Context(), tool("echo", `{"text":"a"}`), nil); err != nil {
			t.Errorf("after what Retry-After said: %v", err)
		}
	})
}

// A call that cannot be recorded is not made.
func TestJournalFailure(t *testing.T) {
	t.Parallel()
	for name, op := range goodOps() {
		r := newRig(t)
		r.broken = errors.New("disk full")
		_, err := r.Do(t.Context(), op, nil)
		if junctor.CodeOf(err) != junctor.CodeUnavailable || strings.Contains(err.Error(), "disk") || !errors.Is(err, r.broken) {
			t.Errorf("%s: %v", name, err)
		}
		if r.heard() != 0 {
			t.Errorf("%s: the backend heard of it", name)
		}
	}
	// When only the end cannot be recorded, the caller still gets the answer.
	r := newRig(t)
	r.backend.before = func() { r.mu.Lock(); r.broken = errors.New("disk full"); r.mu.Unlock() }
	if res, err := r.Do(t.Context(), tool("echo", `{"text":"hi"}`), nil); err != nil || !strings.Contains(string(res.Body), "hi") {
		t.Errorf("%s, %v", res.Body, err)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		op     *guard.Op
		before func()
		cancel time.Duration
		code   junctor.Code
		status junctor.Status
		took   time.Duration
	}{
		{name: "deadline", op: tool("hang", `{}`), code: junctor.CodeTimeout, status: junctor.StatusTimeout, took: timeout},
		{name: "the tool's own deadline", op: tool("hang-short", `{}`), code: junctor.CodeTimeout, status: junctor.StatusTimeout, took: time.Second},
		{name: "cancelled", op: tool("hang", `{}`), cancel: 3 * time.Second, code: junctor.CodeCanceled, status: junctor.StatusCanceled, took: 3 * time.Second},
		{name: "panic", op: tool("echo", `{"text":"a"}`), before: func() { panic("SECRET") }, code: junctor.CodeInternal, status: junctor.StatusError},
		{name: "a tool that failed", op: tool("fail", `{}`), status: junctor.StatusError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.backend.before = tt.before
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				res, err := r.Do(ctx, tt.op, nil)
				if junctor.CodeOf(err) != tt.code || err == nil && !res.IsError {
					t.Errorf("%v, %+v", err, res)
				}
				if !tt.op.Dispatched { // a caller who may repeat what did not run must know
					t.Error("it looks as if the backend had never heard of it")
				}
				if err != nil && strings.Contains(err.Error(), "SECRET") {
					t.Errorf("shows what it panicked with: %v", err)
				}
				if len(r.calls) != 2 || r.calls[0].Status != junctor.StatusRunning || r.calls[1].Status != tt.status || r.calls[0].ID != r.calls[1].ID {
					t.Fatalf("%+v", r.calls)
				}
				if end := r.calls[1]; end.Code != tt.code || end.Duration != tt.took || (err == nil) != (end.Reason == "") {
					t.Errorf("end %+v", end)
				}
			})
		})
	}
}

func TestRequestsCarryTheirHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	op := tool("old-and-new", `{}`)
	op.Version, op.Meta = "1", []byte(`{"m":1}`)
	if _, err := r.Do(t.Context(), op, nil); err != nil {
		t.Fatal(err)
	}
	got := r.backend.last
	if got.Name != "old-and-new" || got.Version != "1" || string(got.Meta) != `{"m":1}` || string(got.Params) != string(op.Params) || got.Principal != op.Principal ||
		got.CallID != r.calls[0].ID || r.calls[0].Version != "1" {
		t.Errorf("%+v", got)
	}
	op = tool("old-and-new", `{}`)
	if _, err := r.Do(t.Context(), op, nil); err != nil || r.backend.last.Version != "2" {
		t.Errorf("without a version: %q, %v", r.backend.last.Version, err)
	}
	// URIs in results are as the view shows them.
	for view, want := range map[catalog.Scope]string{{}: "srv+x://r", {Server: "srv"}: "x://r"} {
		op := tool("link", `{}`)
		if op.Scope = view; view.Server != "" {
			op.Name = "link"
		}
		res, err := r.Do(t.Context(), op, nil)
		if err != nil {
			t.Fatal(err)
		}
		for block := range wire.Elements(wire.Get(res.Body, "content")) {
			if got, _ := wire.String(wire.Get(block, "uri")); got != want {
				t.Errorf("%+v: %q", view, got)
			}
		}
	}
}

// Nobody without the right to call reaches a backend, whatever they try.
func TestNoCallWithoutScope(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tries := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			tries++
			scopes := rapid.SliceOfDistinct(rapid.SampledFrom([]junctor.Scope{
				junctor.ScopeToolsRead, junctor.ScopeBridgeCall, junctor.ScopeEventsSend, junctor.ScopeServersWrite, junctor.ScopeAgentsWrite,
				junctor.ScopeKeysWrite, junctor.ScopeAuditRead, "tools:*", "TOOLS:CALL", "",
			}), func(s junctor.Scope) junctor.Scope { return s }).Draw(t, "scopes")
			pool := []string{"srv__echo", "echo", "srv+x://r", "x://r", "srv__p", "p", "srv+x://t/{n}", "srv__hang", ""}
			op := &guard.Op{
				Principal: caller(scopes...), EntryPoint: junctor.EntryPlain,
				Scope: catalog.Scope{Server: rapid.SampledFrom([]string{"", "srv", "x"}).Draw(t, "server"), Plain: rapid.Bool().Draw(t, "plain")},
				Kind: rapid.SampledFrom([]junctor.Kind{
					junctor.KindTool, junctor.KindResource, junctor.KindPrompt, junctor.KindCompletion, junctor.KindSubscription, "", "other",
				}).Draw(t, "kind"),
				Name: rapid.OneOf(rapid.SampledFrom(pool), rapid.String()).Draw(t, "name"), IsURI: rapid.Bool().Draw(t, "uri"),
				Version: rapid.SampledFrom([]string{"", "1"}).Draw(t, "version"), Arguments: []byte(`{"text":"a"}`), Params: []byte(`{}`),
				Unsubscribe: rapid.Bool().Draw(t, "unsubscribe"), HasState: rapid.Bool().Draw(t, "state"), RequestState: rapid.String().Draw(t, "requestState"),
			}
			r.forget()
			if _, err := r.Do(context.Background(), op, nil); err == nil {
				t.Fatalf("%+v was let through", op)
			}
			if r.heard() != 0 || len(r.calls) != 1 || r.calls[0].Status == junctor.StatusRunning {
				t.Fatalf("steps %q", r.steps)
			}
		}
	})
	t.Logf("%d tries", tries)
}

func TestList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, scope := range []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall, junctor.ScopeAdmin} {
		for _, v := range []catalog.Scope{{}, {Server: "srv"}, {Plain: true}} {
			if b, err := r.List(caller(scope), v, catalog.ListTools); err != nil || !strings.Contains(string(b), "echo") {
				t.Errorf("%s, %+v: %s, %v", scope, v, b, err)
			}
		}
	}
	if _, err := r.List(caller(junctor.ScopeAuditRead), catalog.Scope{}, catalog.ListTools); junctor.CodeOf(err) != junctor.CodeDenied || !strings.Contains(err.Error(), "tools:read") {
		t.Error(err)
	}
	if _, err := r.List(caller(junctor.ScopeToolsRead), catalog.Scope{Server: "none"}, catalog.ListTools); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Error(err)
	}
	if len(r.calls) != 0 {
		t.Error("looking was recorded")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, spoil := range []func(*guard.Options){
		func(o *guard.Options) { o.Catalog = nil }, func(o *guard.Options) { o.Limiter = nil }, func(o *guard.Options) { o.Journal = nil },
		func(o *guard.Options) { o.Recorder = nil }, func(o *guard.Options) { o.Sealer = nil }, func(o *guard.Options) { o.States = nil },
		func(o *guard.Options) { o.Meter = nil }, func(o *guard.Options) { o.Logger = nil }, func(o *guard.Options) { o.Now = nil },
		func(o *guard.Options) { o.NewID = nil }, func(o *guard.Options) { o.Limits.Idle = 0 }, func(o *guard.Options) { o.InputTimeout = -1 },
	} {
		o := r.options()
		spoil(&o)
		if _, err := guard.New(o); err == nil {
			t.Errorf("%d was taken", i)
		}
	}
	o := r.options()
	ended := []error{}
	o.Trace = func(ctx context.Context, _ *guard.Op) (context.Context, func(error)) {
		return ctx, func(err error) { ended = append(ended, err) }
	}
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	_, _ = g.Do(t.Context(), tool("echo", `{"text":"a"}`), nil)
	_, refused := g.Do(t.Context(), tool("none", `{}`), nil)
	if len(ended) != 2 || ended[0] != nil || !errors.Is(ended[1], refused) {
		t.Errorf("spans ended with %v", ended)
	}
}
