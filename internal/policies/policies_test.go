package policies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policies"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// bench is a Policies with its surroundings.
type bench struct {
	*policies.Policies
	t       testing.TB
	store   *store.Store
	tools   []policy.Tool
	awaited []string
	version uint64 // of the tools
	calls   []history.Entry
	total   int
	applied map[junctor.TenantID]*policy.Set
	told    int
	asked   int // how often the tools were read
	shared  bool
}

func admins(tenant junctor.TenantID) *junctor.Principal {
	return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: "u1", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
}

// tool returns the definition of a tool with arguments of these types.
func tool(server, name string, arguments string) policy.Tool {
	return policy.Tool{
		Server: server, Name: name, Digest: server + name + arguments,
		Definition: []byte(`{"name":"` + name + `","inputSchema":{"type":"object","properties":{` + arguments + `},"required":["path"]}}`),
	}
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, tools: []policy.Tool{tool("files", "read", `"path":{"type":"string"}`), tool("files", "delete", `"path":{"type":"string"}`)}}
	st, err := sqlite.Open(t.Context(), t.TempDir()+"/junctor.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b.store = st
	if err := st.EnsureTenant(t.Context(), "acme", "Acme"); err != nil {
		t.Fatal(err)
	}
	b.Policies = b.open()
	return b
}

func (b *bench) open() *policies.Policies {
	b.t.Helper()
	p, err := policies.Open(b.t.Context(), policies.Options{
		Store: b.store, Tools: func(junctor.TenantID) ([]policy.Tool, []string) {
			b.asked++
			return b.tools, b.awaited
		},
		ToolsVersion:   func() uint64 { return b.version },
		AgentRole:      func(junctor.TenantID, string) string { return "general" },
		CheckReference: func(context.Context, *junctor.Principal, string) error { return nil },
		CheckNotDeclared: func(noun, id, file string) error {
			if file != "" {
				return junctor.Errorf(junctor.CodeConflict, "%s %s is declared in %s", noun, id, file)
			}
			return nil
		},
		History: b, CountCalls: func(context.Context, *junctor.Principal, time.Time, time.Time) (int, error) { return b.total, nil },
		Apply:    func(sets map[junctor.TenantID]*policy.Set) { b.applied = sets },
		Announce: func(context.Context) { b.told++ },
		Shared:   b.shared, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// Query implements policies.History with pages of two calls.
func (b *bench) Query(_ context.Context, _ junctor.CallAccess, f history.Filter) (history.Page, error) {
	at := 0
	for at < len(b.calls) && f.Cursor != "" && b.calls[at].ID != f.Cursor {
		at++
	}
	end := min(at+2, at+f.Limit, len(b.calls))
	page := history.Page{Calls: b.calls[at:end]}
	if end < len(b.calls) {
		page.Next = b.calls[end].ID
	}
	return page, nil
}

func deny(name, when string, items ...string) junctor.PolicyRule {
	return junctor.PolicyRule{Name: name, Target: junctor.PolicyTarget{Items: items}, When: when, Verdict: junctor.VerdictDeny}
}

func (b *bench) put(p *junctor.Principal, r junctor.PolicyRule, how admin.PutPolicy) admin.PolicyEntry {
	b.t.Helper()
	e, err := b.PutPolicyRule(b.t.Context(), p, r, how)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

// names returns the names of the rules that a principal sees, in order.
func (b *bench) names(p *junctor.Principal) string {
	b.t.Helper()
	list, _, err := b.PolicyRules(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make([]string, len(list))
	for i := range list {
		if out[i] = list[i].Name; list[i].Position != i+1 {
			b.t.Errorf("%s is at %d, want %d", list[i].Name, list[i].Position, i+1)
		}
	}
	return strings.Join(out, " ")
}

func (b *bench) fails(err error, code junctor.Code) {
	b.t.Helper()
	if junctor.CodeOf(err) != code {
		b.t.Errorf("got %v, want %s", err, code)
	}
}

// Rules are kept in their order, over a restart too, and each change needs the version that
// it is for.
func TestOrderAndVersions(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	a := b.put(p, deny("a", ""), admin.PutPolicy{})
	b.put(p, deny("b", ""), admin.PutPolicy{})
	b.put(p, deny("c", ""), admin.PutPolicy{Place: admin.PolicyPlace{First: true}})
	b.put(p, deny("d", ""), admin.PutPolicy{Place: admin.PolicyPlace{Before: "b"}})
	b.put(p, deny("e", ""), admin.PutPolicy{Place: admin.PolicyPlace{After: "c"}})
	if got := b.names(p); got != "c e a d b" {
		t.Errorf("order: %s", got)
	}
	b.put(p, deny("a", "tool.read_only"), admin.PutPolicy{Place: admin.PolicyPlace{Last: true}, Version: a.UpdatedAt})
	if got := b.names(p); got != "c e d b a" {
		t.Errorf("order after a move: %s", got)
	}
	_, err := b.PutPolicyRule(t.Context(), p, deny("a", ""), admin.PutPolicy{Version: a.UpdatedAt})
	b.fails(err, junctor.CodePrecondition)
	b.fails(b.RemovePolicyRule(t.Context(), p, "a", a.UpdatedAt), junctor.CodePrecondition)
	_, err = b.PutPolicyRule(t.Context(), p, deny("new", ""), admin.PutPolicy{Version: a.UpdatedAt})
	b.fails(err, junctor.CodeNotFound)
	for _, place := range []admin.PolicyPlace{{Before: "none"}, {First: true, Last: true}, {After: "a"}} {
		_, err = b.PutPolicyRule(t.Context(), p, deny("a", ""), admin.PutPolicy{Place: place})
		b.fails(err, junctor.CodeInvalid)
	}
	if err := b.RemovePolicyRule(t.Context(), p, "e", time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.fails(b.RemovePolicyRule(t.Context(), p, "e", time.Time{}), junctor.CodeNotFound)
	b.Policies = b.open()
	if got := b.names(p); got != "c d b a" {
		t.Errorf("order after a restart: %s", got)
	}
	_, version, err := b.PolicyRules(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.ReplacePolicyRules(t.Context(), p, []junctor.PolicyRule{deny("z", ""), deny("a", "tool.read_only")}, version, false); err != nil {
		t.Fatal(err)
	}
	if got := b.names(p); got != "z a" {
		t.Errorf("order after a replacement: %s", got)
	}
	b.fails(b.ReplacePolicyRules(t.Context(), p, nil, version, false), junctor.CodePrecondition)
	if b.told == 0 {
		t.Error("other replicas were not told")
	}
}

// A rule for several tenants is an operator's: others see that it is there, and cannot
// read or change it.
func TestOperatorsRules(t *testing.T) {
	t.Parallel()
	b, operator, acme := newBench(t), admins(junctor.DefaultTenant), admins("acme")
	rule := deny("everywhere", `args.path == "/etc"`, "files/*")
	rule.Target.Tenants = []string{"*"}
	_, err := b.PutPolicyRule(t.Context(), acme, rule, admin.PutPolicy{})
	b.fails(err, junctor.CodeDenied)
	only := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: "key", Subject: "k", Scopes: []junctor.Scope{junctor.ScopePolicyWrite}}
	_, err = b.PutPolicyRule(t.Context(), only, rule, admin.PutPolicy{})
	b.fails(err, junctor.CodeDenied)
	b.put(operator, rule, admin.PutPolicy{})
	b.fails(b.RemovePolicyRule(t.Context(), only, "everywhere", time.Time{}), junctor.CodeDenied)
	b.put(acme, deny("own", ""), admin.PutPolicy{Place: admin.PolicyPlace{First: true}})
	if got := b.names(acme); got != "everywhere own" {
		t.Errorf("rules of the tenant: %s", got)
	}
	list, _, _ := b.PolicyRules(t.Context(), acme)
	if r := list[0]; !r.Restricted || r.When != "" || len(r.Target.Items)+len(r.Target.Tenants) > 0 {
		t.Errorf("the tenant reads %+v", r)
	}
	if err := b.ReplacePolicyRules(t.Context(), only, []junctor.PolicyRule{deny("x", "")}, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if got := b.names(operator); got != "everywhere x" {
		t.Errorf("a replacement by somebody else left %s", got)
	}
	for tenant, want := range map[junctor.TenantID]bool{junctor.DefaultTenant: true, "acme": true} {
		if b.applied[tenant].Empty() == want {
			t.Errorf("%s: rules in effect: %v", tenant, !want)
		}
	}
	d := b.applied["acme"].JudgeCall(t.Context(), &policy.Call{Subject: policy.Subject{Tenant: "acme"}, Kind: junctor.KindTool, Server: "files", Name: "read", Tool: &b.tools[0], Arguments: []byte(`{"path":"/etc"}`)})
	if d.Rule != "everywhere" {
		t.Errorf("acme's call: %+v", d)
	}
}

// A rule is checked against the tools that it is about. When they change so that it no
// longer fits, it is broken and needs attention; until they are listed it is unchecked.
func TestChecks(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	_, err := b.PutPolicyRule(t.Context(), p, deny("typo", `args.pth == "/etc"`, "files/*"), admin.PutPolicy{})
	b.fails(err, junctor.CodeInvalid)
	faults, ok := err.(*admin.PolicyProblemsError) //nolint:errorlint // returned as it is
	if !ok || len(faults.Problems) == 0 || faults.Problems[0].Line != 1 || faults.Problems[0].Column == 0 || !strings.Contains(faults.Problems[0].Suggestion, "path") {
		t.Errorf("problems: %+v", err)
	}
	nowhere := deny("nowhere", "", "nosuch/*")
	_, err = b.PutPolicyRule(t.Context(), p, nowhere, admin.PutPolicy{Strict: true})
	b.fails(err, junctor.CodeInvalid)
	if e := b.put(p, nowhere, admin.PutPolicy{}); len(e.Problems) != 1 || !e.Problems[0].Warning || e.State != admin.PolicyActive {
		t.Errorf("a target that matches nothing: %+v", e)
	}
	b.put(p, deny("etc", `args.path == "/etc"`, "files/*"), admin.PutPolicy{})
	b.tools, b.version = []policy.Tool{tool("files", "read", `"path":{"type":"integer"}`)}, 2
	broken, err := b.Broken(t.Context())
	if err != nil || len(broken) != 1 || broken[0].Rule != "etc" || !broken[0].Denies {
		t.Errorf("broken rules: %+v %v", broken, err)
	}
	b.tools, b.awaited, b.version = nil, []string{"files"}, 3
	list, _, _ := b.PolicyRules(t.Context(), p)
	if i := slices.IndexFunc(list, func(e admin.PolicyEntry) bool { return e.Name == "etc" }); list[i].State != admin.PolicyUnchecked {
		t.Errorf("before its server answers, the rule is %s", list[i].State)
	}
	problems, err := b.CheckPolicyRules(t.Context(), p, []junctor.PolicyRule{deny("x", ""), deny("x", "")})
	if err != nil || !slices.ContainsFunc(problems, func(one admin.PolicyProblem) bool { return one.Field == "name" }) {
		t.Errorf("two rules of one name: %+v %v", problems, err)
	}
}

// A list that cannot be read denies everything until it is replaced.
func TestUnreadableList(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	if err := b.store.For(junctor.DefaultTenant).PutSetting(t.Context(), policies.Setting, []byte(`{"rules":7}`)); err != nil {
		t.Fatal(err)
	}
	b.Policies = b.open()
	d := b.applied[junctor.DefaultTenant].JudgeCall(t.Context(), &policy.Call{Kind: junctor.KindPrompt, Server: "a", Name: "b"})
	if d.Verdict != junctor.VerdictDeny {
		t.Errorf("with an unreadable list: %+v", d)
	}
	_, err := b.PutPolicyRule(t.Context(), p, deny("x", ""), admin.PutPolicy{})
	b.fails(err, junctor.CodeInternal)
	if err := b.ReplacePolicyRules(t.Context(), p, nil, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if !b.applied[junctor.DefaultTenant].Empty() {
		t.Error("the replacement has no effect")
	}
}

// A replica that does not hear from the database for the lease asks before it judges.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.shared = true
	other := b.open()
	b.Policies = b.open()
	b.put(admins(junctor.DefaultTenant), deny("a", ""), admin.PutPolicy{})
	if !other.Set(junctor.DefaultTenant).Empty() {
		t.Fatal("the other replica knows the rule already")
	}
	other.Expire()
	if err := other.Confirm(t.Context(), junctor.DefaultTenant); err != nil || other.Set(junctor.DefaultTenant).Empty() {
		t.Errorf("after the lease: %v, empty: %v", err, other.Set(junctor.DefaultTenant).Empty())
	}
	other.Expire()
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	b.fails(other.Confirm(t.Context(), junctor.DefaultTenant), junctor.CodeUnavailable)
	if err := other.Confirm(t.Context(), "acme"); err != nil {
		t.Errorf("a tenant without rules: %v", err)
	}
}

// The rules of a file keep the order of the file and come first; nobody else can change
// them.
func TestDeclaredRules(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	b.put(p, deny("by-hand", ""), admin.PutPolicy{})
	want := []admin.WantedPolicy{{PolicyRule: deny("z", ""), Where: "f:1:1"}, {PolicyRule: deny("m", "")}, {PolicyRule: deny("a", "")}}
	k := b.NewKind(p, want, "junctor.yaml", false)
	for _, name := range []string{"m", "a", "z"} { // several at once, in any order
		if err := k.Put(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.names(p); got != "z m a by-hand" {
		t.Errorf("order: %s", got)
	}
	for _, w := range want {
		if diff, err := k.Diff(t.Context(), w.Name); err != nil || len(diff) > 0 {
			t.Errorf("%s differs at once: %v %v", w.Name, diff, err)
		}
	}
	_, err := b.PutPolicyRule(t.Context(), p, deny("z", ""), admin.PutPolicy{})
	b.fails(err, junctor.CodeConflict)
	b.fails(b.RemovePolicyRule(t.Context(), p, "m", time.Time{}), junctor.CodeConflict)
	turned := b.NewKind(p, []admin.WantedPolicy{want[2], want[1], want[0]}, "junctor.yaml", false)
	if diff, err := turned.Diff(t.Context(), "a"); err != nil || len(diff) != 1 || diff[0].Field != "position" {
		t.Errorf("another order: %v %v", diff, err)
	}
	if err := turned.Put(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := b.names(p); got != "a m z by-hand" {
		t.Errorf("order after another file: %s", got)
	}
	if err := turned.FindFault(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	bad := b.NewKind(p, []admin.WantedPolicy{{PolicyRule: deny("bad", "args.path ==")}}, "junctor.yaml", true)
	b.fails(bad.FindFault(t.Context(), "bad"), junctor.CodeInvalid)
}

// Every rule to start from can be stored, and the text has all ten.
func TestTemplates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list, err := policies.Templates()
	if err != nil || len(list) != 10 {
		t.Fatalf("%d templates: %v", len(list), err)
	}
	for i := range list {
		b.put(admins(junctor.DefaultTenant), list[i], admin.PutPolicy{})
	}
	text, err := config.Declared{Policies: config.FromPolicies(list)}.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Parse("x.yaml", text)
	if err != nil || len(again.Policies) != len(list) {
		t.Errorf("the text of the templates is read as %d rules: %v\n%s", len(again.Policies), err, text)
	}
	noon := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	var cases []admin.PolicyCase
	for _, c := range []struct{ call, args, rule string }{
		{"db/run_query", `{"sql":"select 1"}`, ""},
		{"db/run_query", `{"sql":"drop table x"}`, "sql-without-ddl"},
		{"db/read_query", `{"query":"DROP TABLE x"}`, "sql-without-ddl"},
		{"files/move", `{"source":"/srv/data/a","destination":"/srv/data/b"}`, ""},
		{"files/move", `{"source":"/srv/data/a","destination":"/etc/b"}`, "paths-below-a-folder"},
		{"files/move", `{"source":"/srv/data/../a","destination":"/srv/data/b"}`, "paths-below-a-folder"},
		{"files/read_many", `{"paths":["/srv/data/a","/etc/b"]}`, "paths-below-a-folder"},
		{"files/read_many", `{"paths":["/srv/data/a"]}`, ""},
	} {
		one := admin.PolicyCase{Name: c.call + c.args, Call: c.call, Args: json.RawMessage(c.args), Time: noon, Expect: "made", Rule: c.rule}
		if c.rule != "" {
			one.Expect = "denied"
		}
		cases = append(cases, one)
	}
	got, err := b.TestPolicies(t.Context(), admins(junctor.DefaultTenant), list, cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if !r.OK {
			t.Errorf("%+v", r)
		}
	}
}

// manyRule is one of many rules.
func manyRule(i int) junctor.PolicyRule {
	return deny(fmt.Sprintf("rule-%d", i), fmt.Sprintf(`args.path.startsWith("/srv/%d/") && principal.agent != "" && !(principal.role in ["general", "ops"])`, i), "files/*")
}

// A rule that is added is checked when it is stored and when its state is read, and the others
// are not checked again, unless tools change.
func TestOnlyChangedRulesAreChecked(t *testing.T) {
	t.Parallel()
	b, p := newBench(t), admins(junctor.DefaultTenant)
	for i := range 20 {
		b.asked = 0
		b.put(p, manyRule(i), admin.PutPolicy{})
		if b.asked > 2 {
			t.Errorf("rule %d: tools were read %d times", i, b.asked)
		}
	}
	b.asked = 0
	b.version++
	if b.names(p); b.asked != 20 {
		t.Errorf("after a change of tools, %d rules were checked", b.asked)
	}
	rule := manyRule(3)
	rule.When = "args.path == 7"
	b.tools = []policy.Tool{tool("files", "read", `"path":{"type":"integer"}`)}
	b.version++
	if e := b.put(p, rule, admin.PutPolicy{}); e.State != admin.PolicyActive {
		t.Errorf("%+v", e)
	}
	broken, err := b.Broken(t.Context())
	if err != nil || len(broken) != 19 {
		t.Errorf("%d rules are broken, %v", len(broken), err)
	}
}

// BenchmarkPutRule changes one of 500 rules, which are about two tools.
func BenchmarkPutRule(b *testing.B) {
	w, p := newBench(b), admins(junctor.DefaultTenant)
	all := make([]junctor.PolicyRule, junctor.MaxPolicyRules)
	for i := range all {
		all[i] = manyRule(i)
	}
	if err := w.ReplacePolicyRules(b.Context(), p, all, time.Time{}, false); err != nil {
		b.Fatal(err)
	}
	n := len(all)
	for b.Loop() {
		rule := manyRule(n)
		rule.Name = "rule-7"
		w.put(p, rule, admin.PutPolicy{})
		n++
	}
}
