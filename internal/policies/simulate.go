package policies

import (
	"cmp"
	"context"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
)

const (
	simulatedDays  = 7
	simulatedCalls = 100_000 // by default
	simulationPage = 1000
	maxSamples     = 5
	maxDifferences = 1000
)

// rulesFor returns the rules for the calls of a tenant, if list were its stored list; nil
// stands for the stored one.
func (s *Policies) rulesFor(tenant junctor.TenantID, list []junctor.PolicyRule) (operators, own []junctor.PolicyRule) {
	now := s.current.Load()
	operators, own = now.operatorRules(), now.documents[tenant].ownRules()
	if list == nil {
		return operators, own
	}
	own = nil
	if tenant == junctor.DefaultTenant {
		operators = nil
	}
	for i := range list {
		if list[i].IsOperators() {
			operators = append(operators, list[i])
		} else {
			own = append(own, list[i])
		}
	}
	return operators, own
}

// simulated compiles rules so that no webhook is asked.
func (s *Policies) simulated(operators, own []junctor.PolicyRule) (*policy.Set, *notAsked) {
	asked := &notAsked{}
	return s.compiler.Compile(operators, own, asked), asked
}

// SimulatePolicies implements admin.Policies.
func (s *Policies) SimulatePolicies(ctx context.Context, p *junctor.Principal, access junctor.CallAccess, in admin.SimulatePolicies) (admin.PolicySimulation, error) {
	out := admin.PolicySimulation{Since: in.Since, Until: in.Until, Differences: []admin.PolicyDifference{}, Rules: []admin.PolicyRuleCount{}}
	if out.Until.IsZero() {
		out.Until = s.o.Now()
	}
	if out.Since.IsZero() {
		out.Since = out.Until.Add(-simulatedDays * 24 * time.Hour)
	}
	if !out.Since.Before(out.Until) {
		return out, junctor.Errorf(junctor.CodeInvalid, "since must be before until")
	}
	if in.Rules != nil {
		for i := range in.Rules {
			if err := checkOperator(p, &in.Rules[i]); err != nil {
				return out, err
			}
		}
		problems, err := s.CheckPolicyRules(ctx, p, in.Rules)
		if err != nil {
			return out, err
		}
		out.Problems = problems
	}
	operators, own := s.rulesFor(p.Tenant, in.Rules)
	set, asked := s.simulated(operators, own)
	run := &simulation{out: &out, groups: map[differenceKey]*admin.PolicyDifference{}}
	for _, list := range [][]junctor.PolicyRule{operators, own} {
		for i := range list {
			r := list[i].WithDefaults()
			if !r.IsOperators() || matchesTenant(&r, p.Tenant) {
				run.addRule(&r)
			}
		}
	}
	limit := cmp.Or(in.Limit, simulatedCalls)
	for cursor := ""; ; {
		page, err := s.o.History.Query(ctx, access, history.Filter{Since: out.Since, Until: out.Until, Limit: min(simulationPage, limit-out.Calls), Cursor: cursor})
		if err != nil {
			return out, err
		}
		for i := range page.Calls {
			s.simulateCall(ctx, set, asked, &page.Calls[i], run)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if out.Calls >= limit {
			out.Partial = true
			break
		}
	}
	run.finish()
	if !access.All() || out.Partial {
		return out, nil
	}
	total, err := s.o.CountCalls(ctx, p, out.Since, out.Until)
	if err != nil {
		return out, err
	}
	out.Total = max(total, out.Calls)
	if out.Share = 1; out.Total > 0 {
		out.Share = float64(out.Calls) / float64(out.Total)
	}
	return out, nil
}

// simulateCall evaluates the rules on one recorded call.
func (s *Policies) simulateCall(ctx context.Context, set *policy.Set, asked *notAsked, e *history.Entry, run *simulation) {
	if e.Status == junctor.StatusRunning {
		return
	}
	run.out.Calls++
	from, rule := recordedEnd(e)
	if !slices.Contains(junctor.PolicyKinds(), e.Kind) || e.Server == junctor.CatalogServer || from == endMade && wasRefused(e) {
		run.out.Decided++ // rules were not asked, and would not be
		return
	}
	c := s.recorded(e)
	now := judge(ctx, set, &c, asked, &run.out.Undecidable)
	if now.undecidable != nil {
		*now.undecidable++
		return
	}
	run.out.Decided++
	for _, hit := range now.hits {
		run.countHit(&hit)
	}
	if now.end == from {
		return
	}
	run.out.Changed++
	if now.end != endMade {
		rule = now.rule
	}
	run.add(differenceKey{rule, e.Server + "/" + e.Name, e.Agent, from, now.end}, e.ID)
}

// wasRefused reports whether a call was refused before rules are asked.
func wasRefused(e *history.Entry) bool {
	return e.Status == junctor.StatusDenied || e.Status == junctor.StatusLimited || e.Status == junctor.StatusInvalid
}

// simulation collects the differences.
type simulation struct {
	out    *admin.PolicySimulation
	groups map[differenceKey]*admin.PolicyDifference
	order  []*admin.PolicyRuleCount
}

// differenceKey is what the calls of a difference have in common.
type differenceKey struct{ rule, tool, agent, from, to string }

// addRule begins to count a rule.
func (s *simulation) addRule(r *junctor.PolicyRule) {
	s.order = append(s.order, &admin.PolicyRuleCount{Rule: r.Name, Mode: r.Mode})
}

// countHit counts what a rule came to.
func (s *simulation) countHit(hit *junctor.PolicyHit) {
	i := slices.IndexFunc(s.order, func(c *admin.PolicyRuleCount) bool { return c.Rule == hit.Rule })
	if i < 0 {
		return
	}
	switch hit.Value {
	case "true":
		s.order[i].Matched++
	case "error":
		s.order[i].Errors++
	}
}

// add counts a call that would have ended otherwise.
func (s *simulation) add(key differenceKey, id string) {
	d := s.groups[key]
	if d == nil {
		d = &admin.PolicyDifference{Rule: key.rule, Tool: key.tool, Agent: key.agent, From: key.from, To: key.to, Samples: []string{}}
		s.groups[key] = d
	}
	if d.Calls++; len(d.Samples) < maxSamples {
		d.Samples = append(d.Samples, id)
	}
}

// finish orders what was collected.
func (s *simulation) finish() {
	for _, d := range s.groups {
		s.out.Differences = append(s.out.Differences, *d)
	}
	slices.SortFunc(s.out.Differences, func(a, b admin.PolicyDifference) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.From+a.To, b.From+b.To))
	})
	s.out.Differences = s.out.Differences[:min(len(s.out.Differences), maxDifferences)]
	for _, count := range s.order {
		s.out.Rules = append(s.out.Rules, *count)
	}
}
