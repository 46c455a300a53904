package policies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// ruleKey identifies a stored rule.
type ruleKey struct {
	owner junctor.TenantID
	name  string
}

// ruleState is what the check of a stored rule came to.
type ruleState struct {
	state    admin.PolicyState
	problems []admin.PolicyProblem
	version  string // of the rule
}

// checkCache holds the states of all rules as long as neither rules nor tools change.
type checkCache struct {
	mu           sync.Mutex
	rules, tools uint64
	tenants      []junctor.TenantID
	known        bool
	states       map[ruleKey]ruleState
}

// CheckPolicyRules implements admin.Policies.
func (s *Policies) CheckPolicyRules(ctx context.Context, p *junctor.Principal, list []junctor.PolicyRule) ([]admin.PolicyProblem, error) {
	if len(list) > junctor.MaxPolicyRules {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%d rules are too many; at most %d are possible", len(list), junctor.MaxPolicyRules)
	}
	tenants, err := s.tenants(ctx)
	if err != nil {
		return nil, err
	}
	var out []admin.PolicyProblem
	seen := map[string]bool{}
	for i := range list {
		r := &list[i]
		if seen[r.Name] {
			out = append(out, admin.PolicyProblem{Rule: r.Name, Field: "name", Message: "another rule has the same name"})
		}
		seen[r.Name] = true
		if r.Filter != nil && r.Filter.Secret != "" {
			if err := s.o.CheckReference(ctx, p, r.Filter.Secret); err != nil {
				out = append(out, admin.PolicyProblem{Rule: r.Name, Field: "filter.secret", Message: junctor.AsError(err).Message})
			}
		}
		found, _ := s.check(r, p.Tenant, tenants)
		out = append(out, found...)
	}
	return out, nil
}

// tenants lists the ids of all tenants.
func (s *Policies) tenants(ctx context.Context) ([]junctor.TenantID, error) {
	list, err := s.o.Store.Tenants(ctx)
	out := make([]junctor.TenantID, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out, err
}

// check returns what is wrong with a rule, and the servers of its target that have not
// listed their tools yet. owner is the tenant in whose list the rule is.
func (s *Policies) check(r *junctor.PolicyRule, owner junctor.TenantID, tenants []junctor.TenantID) (out []admin.PolicyProblem, awaited []string) {
	about := []junctor.TenantID{owner}
	if r.IsOperators() {
		about = slices.DeleteFunc(slices.Clone(tenants), func(t junctor.TenantID) bool { return !matchesTenant(r, t) })
	}
	var tools []policy.Tool
	for _, tenant := range about {
		has, waits := s.o.Tools(tenant)
		tools = append(tools, has...)
		for _, id := range waits {
			if slices.Contains(r.WithDefaults().Kinds, junctor.KindTool) && targetsServer(r, id) {
				awaited = append(awaited, id)
			}
		}
	}
	for _, one := range s.compiler.Check(r, tools) {
		if one.Warning && len(awaited) > 0 {
			continue // what the target matches is not known yet
		}
		out = append(out, admin.PolicyProblem{
			Rule: r.Name, Tool: one.Tool, Line: one.Line, Column: one.Column, Message: one.Message, Suggestion: one.Suggestion, Warning: one.Warning,
		})
	}
	if len(about) == 0 {
		out = append(out, admin.PolicyProblem{Rule: r.Name, Field: "target.tenants", Message: "no tenant matches at the moment", Suggestion: "junctor tenant ls lists the tenants", Warning: true})
	}
	return out, awaited
}

// targetsServer reports whether the target of a rule includes items of a server.
func targetsServer(r *junctor.PolicyRule, server string) bool {
	return len(r.Target.Items) == 0 || slices.ContainsFunc(r.Target.Items, func(item string) bool {
		pattern, _, _ := strings.Cut(item, "/")
		return policy.MatchPattern(pattern, server)
	})
}

// states returns the states of all stored rules. It checks them again when rules or tools
// have changed.
func (s *Policies) states(ctx context.Context) (map[ruleKey]ruleState, error) {
	c := &s.checked
	c.mu.Lock()
	defer c.mu.Unlock()
	now, tools := s.current.Load(), s.o.ToolsVersion()
	if c.known && c.rules == now.version && c.tools == tools {
		return c.states, nil
	}
	tenants, err := s.tenants(ctx)
	if err != nil {
		return nil, err
	}
	states := map[ruleKey]ruleState{}
	isSame := c.known && c.tools == tools && slices.Equal(c.tenants, tenants)
	for owner, d := range now.documents {
		for i := range d.Rules {
			r := &d.Rules[i].PolicyRule
			key, version := ruleKey{owner, r.Name}, policy.Version(r)
			if former, ok := c.states[key]; ok && isSame && former.version == version {
				states[key] = former // only rules that were changed are checked again
				continue
			}
			found, awaited := s.check(r, owner, tenants)
			state := ruleState{admin.PolicyActive, found, version}
			switch {
			case slices.ContainsFunc(found, func(one admin.PolicyProblem) bool { return !one.Warning }):
				state.state = admin.PolicyBroken
			case len(awaited) > 0:
				state.state = admin.PolicyUnchecked
				state.problems = append(slices.Clip(found), admin.PolicyProblem{
					Rule: r.Name, Warning: true, Message: "not checked yet, because " + strings.Join(awaited, ", ") + " has not listed its tools",
				})
			}
			states[key] = state
		}
	}
	c.rules, c.tools, c.tenants, c.known, c.states = now.version, tools, tenants, true, states
	return states, nil
}

// BrokenRule is a stored rule that no longer checks.
type BrokenRule struct {
	Tenant  junctor.TenantID
	Rule    string
	Problem string
	Denies  bool // it denies calls of the tools in question
}

// Broken lists the rules whose conditions do not fit the tools of their targets.
func (s *Policies) Broken(ctx context.Context) ([]BrokenRule, error) {
	states, err := s.states(ctx)
	var out []BrokenRule
	now := s.current.Load()
	for key, state := range states {
		if state.state != admin.PolicyBroken {
			continue
		}
		d := now.documents[key.owner]
		at := -1
		if d != nil {
			at = d.find(key.name)
		}
		if at < 0 {
			continue // it was removed in this moment
		}
		wrong := slices.DeleteFunc(slices.Clone(state.problems), func(one admin.PolicyProblem) bool { return one.Warning })
		text := wrong[0].Text()
		if more := len(wrong) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		r := d.Rules[at].WithDefaults()
		out = append(out, BrokenRule{Tenant: key.owner, Rule: key.name, Problem: text, Denies: r.Mode == junctor.ModeEnforce && r.Verdict != junctor.VerdictAllow})
	}
	slices.SortFunc(out, func(a, b BrokenRule) int {
		return strings.Compare(string(a.Tenant)+"\x00"+a.Rule, string(b.Tenant)+"\x00"+b.Rule)
	})
	return out, err
}
