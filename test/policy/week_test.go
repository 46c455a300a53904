package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/clock"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

// weekRules are the rules of the week, in order.
func weekRules() []junctor.PolicyRule {
	only := func(items ...string) junctor.PolicyTarget { return junctor.PolicyTarget{Items: items} }
	all := []junctor.PolicyRule{
		{Name: "paths", Target: only("files/*"), When: `has(args.path) && !below(args.path, "/srv")`, Verdict: junctor.VerdictDeny},
		{Name: "finance", Target: only("mail/write"), When: `"finance" in principal.groups`, Verdict: junctor.VerdictAllow},
		{Name: "amount", Target: only("mail/write"), When: `has(args.amount) && args.amount > 100`, Verdict: junctor.VerdictDeny},
		{Name: "agents-at-night", Target: junctor.PolicyTarget{Agents: []string{"*"}}, When: `!hours("Mon-Fri 08:00-18:00", "Europe/London")`, Verdict: junctor.VerdictDeny},
		{Name: "weekend", When: `!tool.read_only && !hours("Mon-Fri 00:00-24:00", "Europe/London")`, Verdict: junctor.VerdictAsk},
		{Name: "helper-reads", Target: junctor.PolicyTarget{Agents: []string{"helper"}}, When: `!tool.read_only`, Verdict: junctor.VerdictDeny},
		{Name: "mail", Phase: junctor.PhaseResult, Target: only("mail/*"), Verdict: junctor.VerdictRedact, Redact: []string{"email"}},
	}
	for i := range all {
		all[i].Message = "because of " + all[i].Name
	}
	return all
}

// weekCall is one call of the week.
type weekCall struct {
	after        time.Duration
	who          string
	server, tool string
	arguments    string
	isOpaque     bool // the history does not keep what the rules read
}

// drawWeek draws the calls of a week: many by day, few at night and on the weekend.
func drawWeek(seed uint64, perHour int) (all []weekCall) {
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for hour := range 7 * 24 {
		n := 1 + r.IntN(2)
		if day, at := hour/24, hour%24; day < 5 && at >= 8 && at < 18 {
			n = perHour
		}
		for i := range n {
			c := weekCall{
				after: time.Duration(hour)*time.Hour + time.Duration(i)*time.Hour/time.Duration(n+1), who: pick("ada", "bob", "cyd", "bot", "helper", "service"),
				server: pick("files", "mail"), tool: pick("read", "read", "write"),
			}
			id := fmt.Sprintf("week-%d-%d", hour, i)
			switch {
			case r.IntN(20) == 0: // the history cuts it, and the first rule reads it
				c.server, c.isOpaque = "files", true
				c.arguments = fmt.Sprintf(`{"nonce":%q,"note":%q,"path":%q}`, id, strings.Repeat("long ", 20_000), pick("/srv/a", "/etc/passwd"))
			case c.server == "files":
				c.arguments = fmt.Sprintf(`{"nonce":%q,"path":%q}`, id, pick("/srv/a", "/srv/b/c", "/srv", "/srv/../etc/shadow", "/etc/passwd", "relative"))
			default:
				c.arguments = fmt.Sprintf(`{"nonce":%q,"amount":%d,"note":%q}`, id, r.IntN(150), pick("none", "some", "long"))
			}
			all = append(all, c)
		}
	}
	return all
}

// monday is when the week begins.
func monday() time.Time { return time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC) }

// live makes the calls of a week at an instance whose clock shows their times, and returns
// how each ended.
func live(t *testing.T, idp *oauthserver.Server, rules []junctor.PolicyRule, week []weekCall) (*scene, []string) {
	t.Helper()
	now := clock.New(monday().Add(-time.Hour))
	s := newScene(t, topology.One(testkit.Start(t, settings(idp), app.WithClock(now.Now))), idp)
	s.must(http.StatusOK, "ada", "PUT", "/policies", `{"rules":`+encode(rules)+`}`, nil)
	ends := make([]string, len(week))
	for i, c := range week {
		now.Set(monday().Add(c.after))
		caller := s.callers[c.who]
		if caller == nil {
			caller = program.NewCaller(t, program.Modern, s.URL, s.parties[c.who].token)
			s.callers[c.who] = caller
		}
		a, err := caller.Call(t.Context(), c.server+"__"+c.tool, c.arguments)
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = liveEnd(t, &c, a.Body)
		if i%100 == 99 { // a week takes longer: the history must not have to drop calls
			s.awaitRecord(t, c.arguments)
		}
	}
	now.Set(monday().Add(7 * 24 * time.Hour))
	poll.Until(t, "all calls are on record", patience, func() bool { return s.simulated(t, nil, monday()).Calls >= len(week) })
	return s, ends
}

// awaitRecord waits until a call is the newest in the history.
func (s *scene) awaitRecord(t *testing.T, arguments string) {
	t.Helper()
	want := nonceOf([]byte(arguments))
	poll.Until(t, "the call "+want+" is on record", patience, func() bool {
		var page struct{ Items []history.Entry }
		r := s.ask("ada", "GET", "/api/v1/calls/history?kind=tool&limit=1", "")
		return json.Unmarshal([]byte(r.Body), &page) == nil && len(page.Items) == 1 && strings.Contains(string(page.Items[0].Params), want)
	})
}

// liveEnd returns how a call ended, with the rule, from its answer alone.
func liveEnd(t *testing.T, c *weekCall, answer string) string {
	t.Helper()
	_, rule, isRefused := strings.Cut(answer, "because of ")
	rule, _, _ = strings.Cut(rule, `"`)
	switch {
	case isRefused && rule == "weekend":
		return "asked " + rule
	case isRefused:
		return "denied " + rule
	case !strings.Contains(answer, "ran week-"):
		t.Fatalf("%s %s/%s: %.300s", c.who, c.server, c.tool, answer)
	case !strings.Contains(answer, mail):
		return "redacted mail"
	}
	return "made "
}

// TestWeek makes the calls of a week under rules that only record, simulates the rules, and
// enforces them on the same calls of the same week: what the simulation says is what
// enforcing brings, by rule, tool and agent.
func TestWeek(t *testing.T) {
	t.Parallel()
	perHour := 4
	if program.Long() {
		perHour = 100
	}
	week, idp := drawWeek(rand.Uint64(), perHour), provider(t)
	enforced := weekRules()
	audited := weekRules()
	for i := range audited {
		audited[i].Mode = junctor.ModeAudit
	}
	recording, former := live(t, idp, audited, week)
	enforcing, ends := live(t, idp, enforced, week)

	want, opaque, changed := map[difference]int{}, 0, 0
	byEnd := map[string]int{}
	for i, c := range week {
		if former[i] != "made " {
			t.Fatalf("%+v ended as %q under rules that only record", c, former[i])
		}
		to, rule, _ := strings.Cut(ends[i], " ")
		byEnd[to]++
		switch {
		case c.isOpaque:
			opaque++
		case to != "made":
			want[difference{rule, c.server + "/" + c.tool, recording.parties[c.who].agent, "made", to}]++
			changed++
		}
	}
	for _, mode := range []string{"as a list", "stored"} {
		rules := enforced
		if mode == "stored" { // rules that are stored to record, made to enforce
			rules = slices.Clone(audited)
			for i := range rules {
				rules[i].Mode = ""
			}
		}
		got := recording.simulated(t, rules, monday())
		if diff := differences(got.Differences); !maps.Equal(diff, want) {
			t.Errorf("%s: simulated %v\nenforced  %v", mode, diff, want)
		}
		if got.Calls < len(week) || got.Changed != changed || got.Undecidable.Arguments != opaque || got.Undecidable.Facts+got.Undecidable.Result+got.Undecidable.Filter != 0 || got.Share != 1 {
			t.Errorf("%s: %+v; %d calls, %d end otherwise, %d cannot be decided", mode, got, len(week), changed, opaque)
		}
	}
	// The week that was enforced is as its own rules say, and without them all calls are made.
	if got := enforcing.simulated(t, nil, monday()); got.Changed != 0 || got.Undecidable.Arguments != opaque {
		t.Errorf("the enforced week: %+v", got)
	}
	if got := enforcing.simulated(t, []junctor.PolicyRule{}, monday()); got.Changed != len(week)-byEnd["made"] {
		t.Errorf("the enforced week without rules: %d calls end otherwise, want %d", got.Changed, len(week)-byEnd["made"])
	}
	// Rules that only record match at least what they decide when they are enforced.
	for _, rule := range recording.simulated(t, nil, monday()).Rules {
		n := 0
		for i, c := range week {
			if _, by, _ := strings.Cut(ends[i], " "); by == rule.Rule && !c.isOpaque {
				n++
			}
		}
		if rule.Matched < n || rule.Mode != junctor.ModeAudit {
			t.Errorf("the rule %s decided %d calls, and matched %d in the mode %s", rule.Rule, n, rule.Matched, rule.Mode)
		}
	}
	if changed == 0 || opaque == 0 || len(byEnd) < 4 || len(want) < 10 {
		t.Errorf("the week is one-sided: %v, %d cannot be decided, %v", byEnd, opaque, want)
	}
	t.Logf("figure: a week of %d calls (when enforced %d made, %d denied, %d asked about, %d redacted): simulated and enforced, %d end otherwise, equal in all %d groups of rule, tool and agent; %d calls whose arguments the history cuts are counted apart",
		len(week), byEnd["made"], byEnd["denied"], byEnd["asked"], byEnd["redacted"], changed, len(want), opaque)
}
