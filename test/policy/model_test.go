package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
	"github.com/junctor-mcp/junctor/test/topology"
)

// callsPerCase is how many calls are made under each list of rules.
const callsPerCase = 6

// tally counts what was seen, to say at the end that it was not little.
type tally struct {
	cases, calls, rules           int
	ends                          map[string]int
	explained, simulated, changed int
	lists, shown, hidden          int
	byEntry                       map[string]int
}

// Each case draws rules and calls, makes the calls through some entry points, and holds
// the calls, their explanations, simulations and the lists to the model.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	idp := provider(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		checkSite(t, newScene(t, topology.One(testkit.Start(t, settings(idp))), idp), "SQLite")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		set := settings(idp)
		set["db"] = postgres.Database(t)
		checkSite(t, newScene(t, topology.One(testkit.Start(t, set)), idp), "PostgreSQL")
	})
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		checkSite(t, newScene(t, topology.Replicas(t, settings(idp)), idp), "three replicas")
	})
}

func checkSite(t *testing.T, s *scene, on string) {
	t.Helper()
	n := &tally{byEntry: map[string]int{}, ends: map[string]int{}}
	rapid.Check(t, func(c *rapid.T) { s.checkCase(c, n) })
	var ways []string
	for _, name := range slices.Sorted(maps.Keys(n.byEntry)) {
		ways = append(ways, fmt.Sprintf("%d %s", n.byEntry[name], name))
	}
	t.Logf("figure: rules on %s: %d lists of %d rules, %d calls (%s) that end as the model says (%d made, %d denied, %d asked about, %d redacted), each with an equal explanation; 0 denied calls reached a server; %d simulated calls end as the model says, %d of them otherwise than they were made; %d lists show %d tools and hide %d, none that a call can use",
		on, n.cases, n.rules, n.calls, strings.Join(ways, ", "), n.ends[policymodel.Made], n.ends[policymodel.Denied], n.ends[policymodel.NeedsApproval], n.ends[policymodel.Redacted], n.simulated, n.changed, n.lists, n.shown, n.hidden)
	few := n.ends[policymodel.Made] < n.calls/20 || n.ends[policymodel.Denied] < n.calls/20 || n.changed == 0
	if n.cases > 25 && few || n.cases > 300 && (len(n.ends) < 4 || n.hidden == 0 || len(n.byEntry) < len(entries())) {
		t.Errorf("the cases are one-sided: %+v", n)
	}
}

// made is a call that was made, and how it ends by the model.
type made struct {
	entry *entry
	who   string
	call  *policymodel.Call
	policymodel.Outcome
}

// nonce is the argument that tells a call from all others.
func (m *made) nonce() string { return fmt.Sprint(m.call.Args["nonce"]) }

func (s *scene) checkCase(c *rapid.T, n *tally) {
	rules, others := policymodel.DrawRules(c, ""), policymodel.DrawRules(c, "other-")
	rules.Confine()
	others.Confine()
	began := time.Now().Add(-time.Millisecond).Truncate(time.Millisecond)
	s.enforce(&rules)
	n.cases++
	n.rules += len(rules.Stored(""))
	all, nonces := map[string]*made{}, map[string]bool{}
	for range callsPerCase {
		m := s.makeCall(c, &rules, n)
		all[m.nonce()], nonces[m.nonce()] = m, true
	}
	s.checkLists(c, &rules.Calls, n)
	for nonce, e := range s.recorded(c, began, nonces) {
		m := all[nonce]
		if e.EntryPoint != m.entry.point || e.Server != m.call.Server || e.Name != m.call.Name || e.Agent != m.call.Agent {
			c.Fatalf("%s through %s: recorded as %+v", nonce, m.entry.name, e.Call)
		}
		want := m.Outcome
		if want.End == policymodel.Redacted {
			want.End, want.Rule = "undecidable", "" // the record has what the caller received
		}
		n.explained++
		if x := s.explained(c, e.ID); x.Verdict != want.End || x.Rule != want.Rule {
			c.Fatalf("%s: explained as %s by %q: %+v\n%s", m, x.Verdict, x.Rule, x, encode(rules.Stored("")))
		}
	}
	s.checkSimulation(c, &rules, all, began, true, n)
	s.checkSimulation(c, &others, all, began, false, n)
}

// String says which call it is, and how it ends by the model.
func (m *made) String() string {
	return fmt.Sprintf("%s of %s/%s by %s through %s, which the model says is %s by %q", m.call.Arguments(), m.call.Server, m.call.Name, m.who, m.entry.name, m.End, m.Rule)
}

// makeCall makes one call and holds how it ends to the model.
func (s *scene) makeCall(c *rapid.T, rules *policymodel.Rules, n *tally) *made {
	ways := entries()
	way := &ways[rapid.IntRange(0, len(ways)-1).Draw(c, "way")]
	m := &made{entry: way, who: rapid.SampledFrom(way.parties).Draw(c, "who")}
	p := s.parties[m.who]
	s.serial++
	m.call = &policymodel.Call{
		User: p.user, Agent: p.agent, Groups: p.groups, EntryPoint: way.point, Args: policymodel.DrawArguments(c), Time: time.Now(),
		Server: rapid.SampledFrom(policymodel.Servers()).Draw(c, "server"), Name: rapid.SampledFrom(policymodel.Tools()).Draw(c, "tool"),
	}
	m.call.Args["nonce"] = fmt.Sprintf("call-%d", s.serial)
	m.Outcome = rules.Judge(m.call)
	total := s.backend.calls()
	answer := way.call(s, c, m.who, m.call)
	n.calls++
	n.ends[m.End]++
	n.byEntry[way.name]++
	want := 0
	if m.IsCalled {
		want = 1
	}
	if ran, all := s.backend.count(m.nonce()), s.backend.calls()-total; ran != want || all != want {
		c.Fatalf("%s: it reached a server %d times, and %d calls did: %s\n%s", m, ran, all, answer, encode(rules.Stored("")))
	}
	isShown, hasMail := strings.Contains(answer, "ran "+m.nonce()), strings.Contains(answer, mail)
	switch {
	case (m.End == policymodel.Denied || m.End == policymodel.NeedsApproval) && isShown, m.End != policymodel.Made && hasMail:
		c.Fatalf("%s: the answer has the result: %s", m, answer)
	case !way.direct:
	case m.End == policymodel.Made && !hasMail, m.End == policymodel.Redacted && !isShown:
		c.Fatalf("%s: the answer does not have the result: %s", m, answer)
	case (m.End == policymodel.Denied || m.End == policymodel.NeedsApproval) && !strings.Contains(answer, "because of "+m.Rule):
		c.Fatalf("%s: the answer does not have the message of the rule: %s", m, answer)
	}
	return m
}

// drawsOfLists is how many calls the model makes up to find one that can use a tool.
const drawsOfLists = 40

// checkLists holds that lists show every tool that some call of somebody can use.
func (s *scene) checkLists(c *rapid.T, levels *policymodel.Levels, n *tally) {
	who := rapid.SampledFrom([]string{"service", "ada", "bob", "cyd", "bot", "helper"}).Draw(c, "reader")
	p := s.parties[who]
	usable := map[string]*policymodel.Call{}
	for range drawsOfLists {
		call := policymodel.DrawCall(c)
		call.User, call.Agent, call.Groups = p.user, p.agent, p.groups
		if verdict, _ := levels.Judge(call); verdict != junctor.VerdictDeny {
			usable[call.Server+"__"+call.Name] = call
		}
	}
	for way, names := range s.listed(c, who) {
		n.lists++
		for _, server := range policymodel.Servers() {
			for _, tool := range policymodel.Tools() {
				name := server + "__" + tool
				isShown := slices.Contains(names, name)
				if isShown {
					n.shown++
				} else {
					n.hidden++
				}
				if call := usable[name]; call != nil && !isShown {
					c.Fatalf("%s hides %s from %s, who can use it: %+v\n%s", way, name, who, call, encode(policymodel.Stored(slices.Concat(levels[0], levels[1]))))
				}
			}
		}
	}
}

// checkSimulation holds a simulation of rules on calls to what the model says of both. The
// simulation is of the stored rules, or of these as a list.
func (s *scene) checkSimulation(c *rapid.T, rules *policymodel.Rules, all map[string]*made, since time.Time, areStored bool, n *tally) {
	want := map[difference]int{}
	changed, undecidable := 0, 0
	for _, m := range all {
		now := rules.Judge(m.call)
		switch {
		case now.IsCalled && !m.IsCalled: // it has no result
			now = policymodel.Outcome{End: policymodel.Made}
		case now.End == policymodel.Redacted && m.End != policymodel.Made: // the record does not have the result as it was
			undecidable++
			continue
		}
		if now.End == policymodel.Made {
			now.Rule = m.Rule
		}
		if now.End != m.End {
			want[difference{now.Rule, m.call.Server + "/" + m.call.Name, m.call.Agent, m.End, now.End}]++
			changed++
		}
	}
	list := rules.Stored(junctor.DefaultTenant)
	if areStored {
		list = nil
	}
	got := s.simulated(c, list, since)
	if got.Undecidable != (admin.PolicyUndecidable{Result: undecidable}) || got.Changed != changed || got.Decided+undecidable < len(all) || len(got.Problems) > 0 {
		c.Fatalf("simulated: %+v; the model says that %d of %d calls end otherwise, and %d are not known", got, changed, len(all), undecidable)
	}
	n.simulated += len(all)
	n.changed += changed
	if seen := differences(got.Differences); !maps.Equal(seen, want) {
		c.Fatalf("simulated differences %v, the model says %v", seen, want)
	}
}

// difference is what calls have in common that end otherwise under other rules.
type difference struct{ rule, tool, agent, from, to string }

// differences counts the calls of differences.
func differences(list []admin.PolicyDifference) map[difference]int {
	out := map[difference]int{}
	for _, d := range list {
		out[difference{d.Rule, d.Tool, d.Agent, d.From, d.To}] += d.Calls
	}
	return out
}
