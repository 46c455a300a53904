package policy

import (
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// fetchTool is a tool with arguments of every type.
func fetchTool() *Tool {
	return &Tool{Server: "web", Name: "fetch", Digest: "d1", Definition: []byte(`{"name":"fetch","inputSchema":{"type":"object","required":["url","options"],"properties":{
		"url":{"type":"string"},"count":{"type":"integer"},"amount":{"type":"number"},"deep":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},
		"options":{"type":"object","required":["mode"],"properties":{"mode":{"type":"string"},"retries":{"type":"integer"}},"additionalProperties":false}},"additionalProperties":false}}`)}
}

// newCompiler makes the compiler of a test.
func newCompiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newCall makes a call of a tool by the user ada.
func newCall(t *Tool, arguments string) *Call {
	return &Call{
		Subject: Subject{Tenant: "default", User: "ada", Role: "developer", Groups: []string{"finance"}}, Kind: junctor.KindTool, Server: t.Server, Name: t.Name, Tool: t,
		Arguments: []byte(arguments), EntryPoint: junctor.EntryMCP, Time: time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC),
	}
}

// rules completes rules that a test writes in short.
func rules(all ...junctor.PolicyRule) []junctor.PolicyRule {
	for i := range all {
		if all[i].Name == "" {
			all[i].Name = "rule-" + string(rune('a'+i))
		}
		if all[i].Verdict == "" {
			all[i].Verdict = junctor.VerdictDeny
		}
	}
	return all
}

// TestConditions evaluates conditions over every variable and function.
func TestConditions(t *testing.T) {
	t.Parallel()
	arguments := `{"url":"https://api.Example.com:8443/x","count":3,"amount":5,"deep":true,"tags":["a","b"],"options":{"mode":"fast"}}`
	for _, c := range []struct {
		when string
		want value
	}{
		{`args.url.startsWith("https://")`, isTrue},
		{`domain(args.url) == "api.example.com"`, isTrue},
		{`domain("http://good.example\\@evil.example/") == ""`, isTrue},
		{`domain(args.url) in ["example.org"]`, isFalse},
		{`has(args.count) && args.count > 2`, isTrue},
		{`has(args.count) && args.count > 2.5`, isTrue},
		{`has(args.amount) && args.amount * 2.0 == 10.0`, isTrue}, // 5 is a number by its schema
		{`has(args.amount) && args.amount > 4`, isTrue},
		{`has(args.tags) && args.tags.exists(x, x == "b")`, isTrue},
		{`has(args.tags) && "c" in args.tags`, isFalse},
		{`has(args.tags) && size(args.tags) == 2`, isTrue},
		{`has(args.deep) && !args.deep`, isFalse},
		{`args.options.mode == "fast"`, isTrue},
		{`has(args.options.retries) && args.options.retries > 1`, isFalse},
		{`args.missing == 1`, isError},
		{`principal.user == "ada" && principal.role == "developer" && "finance" in principal.groups`, isTrue},
		{`principal.agent == "" && principal.tenant == "default" && principal.client == ""`, isTrue},
		{`tool.server == "web" && tool.name == "fetch" && !tool.read_only && tool.destructive`, isTrue},
		{`request.entry_point == "mcp"`, isTrue},
		{`request.time > timestamp("2026-01-01T00:00:00Z")`, isTrue},
		{`hours("Mon-Fri 08:00-18:00", "UTC")`, isTrue}, // a Thursday at 10
		{`hours("Mon-Fri 08:00-18:00", "America/New_York")`, isFalse},
		{`hours("Sat,Sun 00:00-24:00", "UTC")`, isFalse},
		{`hours("Wed 22:00-11:00", "UTC")`, isTrue},
		{`cidr("10.1.2.3", "10.0.0.0/8") && !cidr("11.1.2.3", "10.0.0.0/8") && !cidr("", "10.0.0.0/8")`, isTrue},
		{`below("/srv/data/../data/x", "/srv/data") && !below("/srv/data/../x", "/srv/data") && !below("srv/data", "/srv/data")`, isTrue},
		{`glob("/a/b/c", "/a/**") && !glob("/a/b/c", "/a/*") && glob("/a/b", "/?/*")`, isTrue},
		{`"x".matches("^[a-z]$")`, isTrue},
	} {
		s := newCompiler(t).Compile(nil, rules(junctor.PolicyRule{Name: "one", When: c.when}), nil)
		if got := s.Problems()["one"]; got != nil {
			t.Errorf("%s: %v", c.when, got)
			continue
		}
		d := s.JudgeCall(t.Context(), newCall(fetchTool(), arguments))
		if len(d.Hits) != 1 || d.Hits[0].Value != c.want.String() {
			t.Errorf("%s: %+v, want %s", c.when, d.Hits, c.want)
		}
		if denied := d.Verdict == junctor.VerdictDeny; denied != (c.want != isFalse) {
			t.Errorf("%s: verdict %q", c.when, d.Verdict)
		}
	}
}

// TestOrder covers which rule decides.
func TestOrder(t *testing.T) {
	t.Parallel()
	deny, allow, ask := junctor.VerdictDeny, junctor.VerdictAllow, junctor.VerdictAsk
	one := func(name string, verdict junctor.PolicyVerdict, when string) junctor.PolicyRule {
		return junctor.PolicyRule{Name: name, Verdict: verdict, When: when}
	}
	audit := one("watched", deny, "true")
	audit.Mode = junctor.ModeAudit
	elsewhere := one("elsewhere", deny, "true")
	elsewhere.Target.Items = []string{"other/*"}
	agents := one("agents", deny, "true")
	agents.Target.Agents = []string{"*"}
	for name, c := range map[string]struct {
		operators, own []junctor.PolicyRule
		verdict        junctor.PolicyVerdict
		rule           string
	}{
		"nothing matches":                        {nil, rules(one("no", deny, "false"), elsewhere, agents), "", ""},
		"the first that denies":                  {nil, rules(one("first", deny, "true"), one("second", ask, "true")), deny, "first"},
		"the first that asks":                    {nil, rules(one("first", ask, "true"), one("second", deny, "true")), ask, "first"},
		"allow ends the search":                  {nil, rules(one("first", allow, "true"), one("second", deny, "true")), allow, "first"},
		"allow of an operator is for operators":  {rules(one("op", allow, "true"), one("op-no", deny, "true")), rules(one("own", deny, "true")), deny, "own"},
		"operators come first":                   {rules(one("op", deny, "true")), rules(one("own", allow, "true")), deny, "op"},
		"audit decides nothing":                  {nil, rules(audit), "", ""},
		"an error denies":                        {nil, rules(one("broken", ask, "args.nothing == 1")), deny, "broken"},
		"an error in allow does not allow":       {nil, rules(one("broken", allow, "args.nothing == 1"), one("later", deny, "true")), deny, "later"},
		"an uncompilable rule denies its target": {nil, rules(one("bad", deny, "1 +")), deny, "bad"},
	} {
		s := newCompiler(t).Compile(c.operators, c.own, nil)
		d := s.JudgeCall(t.Context(), newCall(fetchTool(), `{"url":"x","options":{"mode":"m"}}`))
		if d.Verdict != c.verdict || d.Rule != c.rule {
			t.Errorf("%s: %q by %q, want %q by %q", name, d.Verdict, d.Rule, c.verdict, c.rule)
		}
	}
}

// TestCheck covers mistakes that are found when a rule is saved.
func TestCheck(t *testing.T) {
	t.Parallel()
	other := &Tool{Server: "web", Name: "list", Digest: "d2", Definition: []byte(`{"name":"list","inputSchema":{"type":"object","properties":{"page":{"type":"integer"}},"additionalProperties":false}}`)}
	for _, c := range []struct{ when, items, want string }{
		{`args.url == "x"`, "web/fetch", ""},
		{`args.ulr == "x"`, "web/fetch", "line 1, column 5: the tool has no argument args.ulr (tool web/fetch); did you mean url?"},
		{`args.count > 1`, "web/fetch", "calls may leave out args.count"},
		{`has(args.count) && args.count > 1`, "web/fetch", ""},
		{`!has(args.count) || args.count > 1`, "web/fetch", ""},
		{`has(args.count) ? args.count > 1 : false`, "web/fetch", ""},
		{`has(args.count) || args.count > 1`, "web/fetch", "calls may leave out args.count"},
		{`args.options.mode == "x"`, "web/fetch", ""},
		{`args.options.mod == "x"`, "web/fetch", "did you mean mode?"},
		{`has(args.options.retries) && args.options.retries > 3`, "web/fetch", ""},
		{`args.url > 3`, "web/fetch", "no matching overload"},
		{`args.url == "x"`, "web/*", "the tool has no argument args.url (tool web/list)"},
		{`has(args.url) && args.url == "x"`, "web/*", ""},
		{`args.url == "x"`, "nothing/*", "no tool matches"},
		{`principal.usr == "x"`, "web/*", "did you mean user?"},
		{`prinzipal.user == "x"`, "web/*", "did you mean principal?"},
		{`args.url`, "web/fetch", "the condition is of the type string; it must be true or false"},
		{`1 + 1`, "web/fetch", "it must be true or false"},
		{`result.isError`, "web/fetch", "use the phase result"},
		{`hours("Mo-Fr 8-18", "UTC")`, "web/fetch", "not a valid time of the week"},
		{`hours("Mon-Fri 08:00-18:00", "Nowhere/City")`, "web/fetch", "unknown time zone"},
		{`cidr(request.address, "10.0.0/8")`, "web/fetch", "not a valid network"},
		{`args.url.matches("(")`, "web/fetch", "missing closing )"},
		{"args.url ==\n  nothing", "web/fetch", "line 2, column 3: undeclared reference to 'nothing'"},
		{`has(args.tags) && args.tags.all(a, args.tags.all(b, args.tags.all(c, args.tags.all(d, a + b + c + d != "x"))))`, "web/fetch", "too expensive"},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), "web/fetch", "line 1, column 1: expression recursion limit exceeded"},
	} {
		r := junctor.PolicyRule{Name: "one", Verdict: junctor.VerdictDeny, When: c.when, Target: junctor.PolicyTarget{Items: []string{c.items}}}
		problems := newCompiler(t).Check(&r, []Tool{*fetchTool(), *other})
		got := make([]string, len(problems))
		for i := range problems {
			got[i] = problems[i].String()
		}
		if text := strings.Join(got, "\n"); (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s on %s:\n%s\nwant %s", junctor.ShortenText(c.when, 100), c.items, text, c.want)
		}
	}
}

// TestCheckNamesTheRuleOnce covers a member of a rule that is not valid. The problem
// names its rule in a field of its own.
func TestCheckNamesTheRuleOnce(t *testing.T) {
	t.Parallel()
	r := junctor.PolicyRule{Name: "one", Verdict: "forbid"}
	problems := newCompiler(t).Check(&r, nil)
	if len(problems) != 1 || problems[0].Rule != "one" || strings.Contains(problems[0].Message, `"one"`) || !strings.Contains(problems[0].Message, `the verdict "forbid"`) {
		t.Errorf("%+v", problems)
	}
}

// TestHides covers what lists leave out.
func TestHides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rules []junctor.PolicyRule
		want  bool
	}{
		{"denied for everybody", rules(junctor.PolicyRule{When: "true"}), true},
		{"denied without a condition", rules(junctor.PolicyRule{}), true},
		{"denied for the user", rules(junctor.PolicyRule{When: `principal.user == "ada"`}), true},
		{"denied for another user", rules(junctor.PolicyRule{When: `principal.user == "bob"`}), false},
		{"depends on arguments", rules(junctor.PolicyRule{When: `args.url == "x"`}), false},
		{"depends on arguments and the user", rules(junctor.PolicyRule{When: `args.url == "x" || principal.user == "ada"`}), true},
		{"depends on the time", rules(junctor.PolicyRule{When: `hours("Mon-Fri 08:00-18:00", "UTC")`}), false},
		{"depends on the entry point", rules(junctor.PolicyRule{When: `request.entry_point != "mcp"`}), false},
		{"only asks", rules(junctor.PolicyRule{Verdict: junctor.VerdictAsk}, junctor.PolicyRule{}), false},
		{"allowed before", rules(junctor.PolicyRule{Verdict: junctor.VerdictAllow, When: `args.url == "x"`}, junctor.PolicyRule{}), false},
		{"denied by one or the other", rules(junctor.PolicyRule{When: `args.url == "x"`}, junctor.PolicyRule{}), true},
		{"audit", rules(junctor.PolicyRule{Mode: junctor.ModeAudit}), false},
	} {
		s := newCompiler(t).Compile(nil, c.rules, nil)
		call := newCall(fetchTool(), "")
		if got := s.Hides(&call.Subject, call.Kind, call.Server, call.Name, call.Tool); got != c.want {
			t.Errorf("%s: hidden %v", c.name, got)
		}
	}
}

// TestHidesByTwoLevels covers rules of operators before a tenant's rule that denies.
func TestHidesByTwoLevels(t *testing.T) {
	t.Parallel()
	perhaps := `args.url == "x"`
	for _, c := range []struct {
		name      string
		operators []junctor.PolicyRule
		want      bool
	}{
		{"none", nil, true},
		{"perhaps allowed", rules(junctor.PolicyRule{Verdict: junctor.VerdictAllow, When: perhaps}), true},
		{"perhaps allowed, else denied", rules(junctor.PolicyRule{Verdict: junctor.VerdictAllow, When: perhaps}, junctor.PolicyRule{}), true},
		{"perhaps allowed, else asked about", rules(junctor.PolicyRule{Verdict: junctor.VerdictAllow, When: perhaps}, junctor.PolicyRule{Verdict: junctor.VerdictAsk}), false},
		{"perhaps asked about", rules(junctor.PolicyRule{Verdict: junctor.VerdictAsk, When: perhaps}), false},
		{"allowed before it is asked about", rules(junctor.PolicyRule{Verdict: junctor.VerdictAllow}, junctor.PolicyRule{Verdict: junctor.VerdictAsk}), true},
	} {
		s := newCompiler(t).Compile(c.operators, rules(junctor.PolicyRule{}), nil)
		call := newCall(fetchTool(), "")
		if got := s.Hides(&call.Subject, call.Kind, call.Server, call.Name, call.Tool); got != c.want {
			t.Errorf("%s: hidden %v", c.name, got)
		}
	}
}

// TestExplainParts shows which parts of a condition decided.
func TestExplainParts(t *testing.T) {
	t.Parallel()
	s := newCompiler(t).Compile(nil, rules(junctor.PolicyRule{Name: "paths", When: `!below(args.url, "/srv") && principal.user == "ada"`}), nil)
	traces := s.Explain(newCall(fetchTool(), `{"url":"/etc/passwd","options":{"mode":"m"}}`), false, nil)
	if len(traces) != 1 || !traces[0].Decided || len(traces[0].Parts) != 2 {
		t.Fatalf("%+v", traces)
	}
	p := traces[0].Parts[0]
	if p.Text != `below(args.url, "/srv")` || p.Value != "false" || strings.Join(p.Inputs, ";") != `args.url = "/etc/passwd"` {
		t.Errorf("%+v", p)
	}
}
