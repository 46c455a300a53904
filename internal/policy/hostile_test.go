package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// hostileConditions returns conditions that are malformed, hostile or expensive: some
// written for what they attack, the others made by damaging good ones.
func hostileConditions(n int) []string {
	all := []string{
		"(", ")", "1", "'", `"`, "\x00", "args.", ".args", "args..url", "args[", "true &&", "&& true", "!", "?", "true ? false", "{", "[1,", "args.url = 1", "if (true) {}", "--", "/**/",
		"nothing()", "size()", "size(1)", "glob('a')", "hours('x','y')", "hours(args.url, args.url)", "cidr('a','b')", "below('/a','b')", "domain(1)", "matches('a','(')",
		"timestamp('x') < request.time", "duration('x') > duration('1s')", "int('x') == 1", "1 / 0 == 1", "1 % 0 == 1", "[1][5] == 1", "{'a':1}['b'] == 1", "9223372036854775807 + 1 > 0", "-(-9223372036854775807 - 1) > 0",
		"principal == principal", "args == args", "tool", "request", "principal['user'] == 'x'", "type(args) == map", "dyn(args).x.y.z == 1",
		`"` + strings.Repeat("a", 20_000) + `" == args.url`, strings.Repeat("!", 500) + "true", strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500), strings.Repeat("true && ", 3000) + "true", strings.Repeat("[", 200) + strings.Repeat("]", 200) + " == []",
		"args.url" + strings.Repeat(".x", 300) + " == 1", "[" + strings.Repeat("1,", 4000) + "1] == []",
		`args.url.matches("` + strings.Repeat("(a*)*", 100) + `")`, `args.url.matches("(((a{1,100}){1,100}){1,100})")`, `args.url.matches(args.url)`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$")`,
		`args.tags.all(a, args.tags.all(b, args.tags.all(c, a + b + c != "x")))`, `args.tags.map(a, args.tags.map(b, args.tags.map(c, a + b + c))).size() > 0`,
		`[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, [1,2,3,4,5,6,7,8].all(c, [1,2,3,4,5,6,7,8].all(d, [1,2,3,4,5,6,7,8].all(e, [1,2,3,4,5,6,7,8].all(f, [1,2,3,4,5,6,7,8].all(g, a+b+c+d+e+f+g > 0)))))))`,
		`args.tags.exists(a, args.tags.exists(b, (a + b).matches(a + b)))`, `glob(args.url, "` + strings.Repeat("*a", 200) + `")`, `glob(args.url, args.url)`, `args.url.replace("a", "aaaaaaaaaaaaaaaa") == "x"`,
	}
	good := []string{`domain(args.url) == "example.com"`, `has(args.tags) && args.tags.exists(t, t == "x")`, `!below(args.url, "/srv") && principal.user == "ada"`, `hours("Mon-Fri 08:00-18:00", "UTC") || tool.read_only`}
	tokens := []string{"(", ")", "&&", "||", "!", ".", ",", "[", "]", "{", "}", "?", ":", "args", "principal", "result", "has", "in", "==", "<", "+", "*", "'", `"`, "1", "1.5", "null", "\\", "é", "\t", "true"}
	r := rand.New(rand.NewPCG(1, 2))
	for len(all) < n {
		text := []byte(good[r.IntN(len(good))])
		for range 1 + r.IntN(4) {
			at := r.IntN(len(text))
			switch r.IntN(3) {
			case 0:
				text = append(text[:at:at], text[at+1:]...)
			case 1:
				text = append(text[:at:at], append([]byte(tokens[r.IntN(len(tokens))]), text[at:]...)...)
			default:
				text[at] = byte(r.IntN(256))
			}
		}
		all = append(all, string(text))
	}
	return all
}

// TestHostileConditions saves 500 bad conditions: each is refused, or bounded when it
// runs. None of them stops the rule behind it, and none opens anything.
func TestHostileConditions(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t)
	large := strings.Repeat("a", 50_000)
	tags := `"x"` + strings.Repeat(`,"y"`, 2000)
	call := newCall(fetchTool(), fmt.Sprintf(`{"url":%q,"tags":[%s],"options":{"mode":"m"}}`, large, tags))
	refused, slowest := 0, time.Duration(0)
	for _, when := range hostileConditions(500) {
		rule := junctor.PolicyRule{Name: "hostile", When: when, Verdict: junctor.VerdictAllow}
		if problems := compiler.Check(&rule, []Tool{*fetchTool()}); len(problems) > 0 {
			refused++
			for _, p := range problems {
				if p.Message == "" || len(p.String()) > 1500 {
					t.Errorf("%q: problem %q", junctor.ShortenText(when, 60), p.String())
				}
			}
		}
		// Also those that were refused: a database may hold a rule of another version.
		set := compiler.Compile([]junctor.PolicyRule{rule}, []junctor.PolicyRule{{Name: "own", Verdict: junctor.VerdictDeny}}, nil)
		began := time.Now()
		if d := set.JudgeCall(t.Context(), call); d.Verdict != junctor.VerdictDeny || d.Rule != "own" {
			t.Errorf("%q: %q by %q", junctor.ShortenText(when, 60), d.Verdict, d.Rule)
		}
		slowest = max(slowest, time.Since(began))
		closed := rule
		closed.Verdict = junctor.VerdictDeny
		d := compiler.Compile(nil, []junctor.PolicyRule{closed}, nil).JudgeCall(t.Context(), call)
		if len(d.Hits) == 1 && d.Hits[0].Value == "error" && d.Verdict != junctor.VerdictDeny {
			t.Errorf("%q could not be evaluated, and did not deny", junctor.ShortenText(when, 60))
		}
	}
	t.Logf("figure: 500 malformed, hostile or expensive conditions: %d refused when saved, the slowest of the others took %s", refused, slowest.Round(time.Millisecond))
	if refused < 300 {
		t.Errorf("only %d were refused", refused)
	}
}

// FuzzCondition compiles and evaluates any text.
func FuzzCondition(f *testing.F) {
	for _, when := range hostileConditions(80) {
		f.Add(when)
	}
	compiler := newCompiler(f)
	f.Fuzz(func(t *testing.T, when string) {
		rule := junctor.PolicyRule{Name: "fuzzed", When: when, Verdict: junctor.VerdictDeny}
		compiler.Check(&rule, []Tool{*fetchTool()})
		set := compiler.Compile(nil, []junctor.PolicyRule{rule}, nil)
		call := newCall(fetchTool(), `{"url":"https://example.com/","tags":["a"],"options":{"mode":"m"}}`)
		d := set.JudgeCall(t.Context(), call)
		decided := ""
		for _, trace := range set.Explain(call, false, nil) {
			if trace.Decided {
				decided = trace.Rule
			}
		}
		if decided != d.Rule {
			t.Fatalf("decided by %q, explained as decided by %q", d.Rule, decided)
		}
		if set.Hides(&call.Subject, call.Kind, call.Server, call.Name, call.Tool) && d.Verdict != junctor.VerdictDeny {
			t.Fatalf("hidden, and %q", d.Verdict)
		}
	})
}
