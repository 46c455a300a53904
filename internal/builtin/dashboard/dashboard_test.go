package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/dashboard"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/mcpapps/mcpappstest"
)

func now() time.Time { return time.Date(2026, 1, 26, 12, 0, 0, 0, time.UTC) }

// record is a source of calls, newest first.
type record struct {
	calls []junctor.Call
	cut   bool // there are more
}

func (r record) Calls(_ context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) ([]junctor.Call, bool, error) {
	var out []junctor.Call
	for _, c := range r.calls {
		if c.Tenant == p.Tenant && !c.Start.Before(since) && match(&c) {
			out = append(out, c)
		}
	}
	return out, !r.cut, nil
}

func (record) Servers(context.Context, *junctor.Principal) ([]junctor.Server, error) {
	return []junctor.Server{
		{ID: "demo", Title: "Demo", Mode: junctor.ModeBuiltin, State: junctor.StateActive},
		{ID: "map", Mode: junctor.ModeBYO, State: junctor.StateError, LastError: "connection refused"},
	}, nil
}

func call(ago time.Duration, server, name string, status junctor.Status, took time.Duration, by string) junctor.Call {
	return junctor.Call{
		ID: fmt.Sprint(ago), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: server, Name: name,
		Issuer: junctor.IssuerKey, Subject: by, Status: status, Start: now().Add(-ago), Duration: took,
	}
}

func some() record {
	return record{calls: []junctor.Call{
		call(time.Second, "demo", "slow", junctor.StatusRunning, 0, "me"),
		call(2*time.Second, "dashboard", "poll", junctor.StatusSuccess, time.Millisecond, "me"),
		call(3*time.Second, "demo", "echo", junctor.StatusSuccess, 10*time.Millisecond, "me"),
		call(4*time.Second, "map", "show", junctor.StatusTimeout, 30*time.Millisecond, "other"),
		call(5*time.Second, "demo", "echo", junctor.StatusDenied, 0, "other"),
		call(10*time.Minute, "demo", "echo", junctor.StatusSuccess, time.Hour, "me"),
	}}
}

func figureTool(t testing.TB, source dashboard.Source) *builtin.Server {
	t.Helper()
	s, err := dashboard.New(dashboard.Options{Source: source, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func principal(scopes ...junctor.Scope) *junctor.Principal {
	return &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerKey, Subject: "me", Scopes: scopes}
}

type answer struct {
	Content []struct{ Text string } `json:"content"`
	Data    dashboard.Figures       `json:"structuredContent"`
	IsError bool                    `json:"isError"`
}

func ask(t *testing.T, s *builtin.Server, p *junctor.Principal, tool, arguments string) answer {
	t.Helper()
	res, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: tool, Arguments: []byte(arguments), Principal: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(res.Body, &a); err != nil {
		t.Fatalf("%v in %s", err, res.Body)
	}
	return a
}

func TestFiguresForReadersOfTheRecord(t *testing.T) {
	t.Parallel()
	a := ask(t, figureTool(t, some()), principal(junctor.ScopeAuditRead), "show", `{}`)
	f := a.Data
	if f.Calls != 4 || f.Running != 1 || f.Failed != 1 || f.Refused != 1 || !f.Everybody || f.Seconds != 300 || f.MaxMS != 30 || len(f.Newest) != 4 {
		t.Errorf("%+v", f)
	}
	if len(f.Servers) != 2 || f.Servers[0].Calls != 3 || f.Servers[1].Failed != 1 || f.Servers[1].Error != "connection refused" {
		t.Errorf("%+v", f.Servers)
	}
	if f.Newest[0].By != "you" || f.Newest[2].By != "key:other" {
		t.Errorf("%+v", f.Newest)
	}
	for _, want := range []string{"Calls of the last 5m0s: 4", "1 failed, 1 refused, 1 running", "Server map is error", "connection refused"} {
		if !strings.Contains(a.Content[0].Text, want) {
			t.Errorf("%q is not in %q", want, a.Content[0].Text)
		}
	}
	if longer := ask(t, figureTool(t, some()), principal(junctor.ScopeAdmin), "poll", `{"minutes":15}`).Data; longer.Calls != 5 || longer.Seconds != 900 {
		t.Errorf("15 minutes: %+v", longer)
	}
}

func TestOthersSeeTheirOwnCallsAlone(t *testing.T) {
	t.Parallel()
	a := ask(t, figureTool(t, some()), principal(junctor.ScopeToolsCall), "show", `{"minutes":5}`)
	if a.Data.Calls != 2 || a.Data.Everybody || !strings.HasPrefix(a.Content[0].Text, "Your calls") {
		t.Errorf("%+v", a)
	}
	for _, c := range a.Data.Newest {
		if c.By != "you" {
			t.Errorf("a call of %s is shown", c.By)
		}
	}
	stranger := principal(junctor.ScopeAuditRead)
	stranger.Tenant = "elsewhere"
	if f := ask(t, figureTool(t, some()), stranger, "show", `{}`).Data; f.Calls != 0 {
		t.Errorf("another tenant sees %+v", f)
	}
}

// The call that asks is not among those that it tells of.
func TestACallDoesNotCountItself(t *testing.T) {
	t.Parallel()
	r := some()
	res, err := figureTool(t, r).Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, CallID: r.calls[0].ID, Name: "show", Arguments: []byte(`{}`), Principal: principal(junctor.ScopeAdmin)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(res.Body, &a); err != nil || a.Data.Running != 0 || a.Data.Calls != 3 {
		t.Errorf("%+v, %v", a.Data, err)
	}
}

func TestMinutesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, minutes := range []string{`-1`, `61`} {
		if a := ask(t, figureTool(t, some()), principal(), "show", `{"minutes":`+minutes+`}`); !a.IsError {
			t.Errorf("%s: %+v", minutes, a)
		}
	}
}

// What is not all of a time is summed up over the time that it is of.
func TestFiguresOfACutRecord(t *testing.T) {
	t.Parallel()
	r := some()
	r.calls, r.cut = r.calls[:5], true
	if f := ask(t, figureTool(t, r), principal(junctor.ScopeAuditRead), "show", `{}`).Data; f.Seconds != 5 || f.PerSecond != 4.0/5 {
		t.Errorf("%v calls per second over %v s", f.PerSecond, f.Seconds)
	}
}

// Whatever the calls are, the parts add up.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	statuses := []junctor.Status{"running", "success", "error", "timeout", "canceled", "denied", "limited", "invalid", "lapsed"}
	rapid.Check(t, func(rt *rapid.T) {
		r := record{cut: rapid.Bool().Draw(rt, "cut")}
		ago := time.Duration(0)
		for range rapid.IntRange(0, 80).Draw(rt, "calls") {
			ago += time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(rt, "later"))
			r.calls = append(r.calls, call(ago, rapid.SampledFrom([]string{"demo", "map"}).Draw(rt, "server"), "x",
				rapid.SampledFrom(statuses).Draw(rt, "status"), time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(rt, "took")), "me"))
		}
		f := ask(t, figureTool(t, r), principal(junctor.ScopeAdmin), "show", `{"minutes":10}`).Data
		calls, bad, byServer := 0, 0, 0
		for _, s := range f.Series {
			calls, bad = calls+s.Calls, bad+s.Bad
		}
		for _, s := range f.Servers {
			byServer += s.Calls
		}
		if len(f.Series) != 60 || calls != f.Calls || byServer != f.Calls || bad != f.Failed+f.Refused || f.Running+f.Failed+f.Refused > f.Calls {
			rt.Fatalf("%+v", f)
		}
		if f.MedianMS > f.P95MS || f.P95MS > f.MaxMS || len(f.Newest) > 12 {
			rt.Fatalf("%+v", f)
		}
	})
}

// The page is one file, with the bridge in it, and wants nothing of the network.
func TestThePage(t *testing.T) {
	t.Parallel()
	s := figureTool(t, some())
	offer, err := s.Offer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]mcpapps.ToolMeta{}
	for _, tool := range offer.Tools {
		var def struct {
			Meta json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal(tool.JSON, &def); err != nil {
			t.Fatal(err)
		}
		meta[tool.Name] = mcpapps.ParseToolMeta(def.Meta)
	}
	if m := meta["poll"]; m.IsVisibleTo(mcpapps.VisibleToModel) || !m.IsVisibleTo(mcpapps.VisibleToApp) || m.ResourceURI != "" {
		t.Errorf("poll has %+v", m)
	}
	uri := meta["show"].ResourceURI
	res, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindResource, Name: uri, Principal: principal()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(offer.Resources[0].JSON, &listed); err != nil {
		t.Fatal(err)
	}
	page, err := mcpapps.ParsePage(uri, res.Body, listed.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcpappstest.CheckPage(page); err != nil {
		t.Error(err)
	}
	if !strings.Contains(page.HTML, "function mcpApp") || page.Meta.CSP != nil || page.Meta.PrefersBorder == nil {
		t.Errorf("it declares %+v", page.Meta)
	}
}

func TestMissingValuesAreNamed(t *testing.T) {
	t.Parallel()
	if _, err := dashboard.New(dashboard.Options{}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Error(err)
	}
}
