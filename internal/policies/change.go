package policies

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/store"
)

const noun = "policy"

// PolicyRules implements admin.Policies.
func (s *Policies) PolicyRules(ctx context.Context, p *junctor.Principal) ([]admin.PolicyEntry, time.Time, error) {
	states, err := s.states(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	now := s.current.Load()
	var out, own []admin.PolicyEntry //nolint:prealloc // most tenants have none
	add := func(to *[]admin.PolicyEntry, owner junctor.TenantID, r *storedRule) {
		e := admin.PolicyEntry{
			PolicyRule: r.PolicyRule, Version: policy.Version(&r.PolicyRule), Operators: r.IsOperators(), Declared: r.Declared, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy,
		}
		found := states[ruleKey{owner, r.Name}]
		e.State, e.Problems = found.state, found.problems
		if !p.Has(junctor.ScopePolicyWrite) { // problems quote definitions of tools that the reader may not see
			e.Problems, e.UpdatedBy = nil, ""
		}
		if owner != p.Tenant {
			e = restrictEntry(&e)
		}
		*to = append(*to, e)
	}
	operators := now.documents[junctor.DefaultTenant]
	if operators != nil {
		for i := range operators.Rules {
			r := &operators.Rules[i]
			if r.IsOperators() && (p.Tenant == junctor.DefaultTenant || matchesTenant(&r.PolicyRule, p.Tenant)) {
				add(&out, junctor.DefaultTenant, r)
			}
		}
	}
	var version time.Time
	if d := now.documents[p.Tenant]; d != nil {
		version = d.version
		for i := range d.Rules {
			if !d.Rules[i].IsOperators() {
				add(&own, p.Tenant, &d.Rules[i])
			}
		}
	}
	out = append(out, own...)
	for i := range out {
		out[i].Position = i + 1
	}
	return out, version, nil
}

// restrictEntry returns what another tenant sees of an operators' rule: its name and verdict, when it
// is evaluated, and whether it is in effect.
func restrictEntry(e *admin.PolicyEntry) admin.PolicyEntry {
	return admin.PolicyEntry{
		PolicyRule: junctor.PolicyRule{Name: e.Name, Phase: e.Phase, Verdict: e.Verdict, Mode: e.Mode},
		Version:    e.Version, State: e.State, Operators: true, UpdatedAt: e.UpdatedAt, Restricted: true,
	}
}

// Rule returns one rule of the principal's tenant as the API shows it.
func (s *Policies) Rule(ctx context.Context, p *junctor.Principal, name string) (admin.PolicyEntry, error) {
	list, _, err := s.PolicyRules(ctx, p)
	if err != nil {
		return admin.PolicyEntry{}, err
	}
	for i := range list {
		if list[i].Name == name && !list[i].Restricted {
			return list[i], nil
		}
	}
	return admin.PolicyEntry{}, unknownRule(name)
}

func unknownRule(name string) error {
	return junctor.Errorf(junctor.CodeNotFound, "there is no rule %q; junctor policy ls lists the rules", name)
}

// checkOperator refuses an operators' rule of anybody else.
func checkOperator(p *junctor.Principal, r *junctor.PolicyRule) error {
	if r.IsOperators() && !p.Operator() {
		return junctor.Errorf(junctor.CodeDenied, "the rule %q: target.tenants makes a rule for several tenants, which requires the scope admin in the tenant %s", r.Name, junctor.DefaultTenant)
	}
	return nil
}

// PutPolicyRule implements admin.Policies.
func (s *Policies) PutPolicyRule(ctx context.Context, p *junctor.Principal, rule junctor.PolicyRule, how admin.PutPolicy) (admin.PolicyEntry, error) {
	if err := s.admit(ctx, p, []junctor.PolicyRule{rule}, how.Strict); err != nil {
		return admin.PolicyEntry{}, err
	}
	err := s.change(ctx, p, false, func(d *document) error {
		next := storedRule{PolicyRule: rule}
		at := d.find(rule.Name)
		if at < 0 && !how.Version.IsZero() {
			return unknownRule(rule.Name)
		}
		if at >= 0 {
			if err := s.checkReplaces(p, &d.Rules[at], how.Version); err != nil {
				return err
			}
		}
		s.stamp(p, d, &next)
		if err := d.put(&next); err != nil {
			return err
		}
		if err := d.move(rule.Name, how.Place); err != nil {
			return err
		}
		return s.keepFileFirst(d, how.Place)
	})
	if err != nil {
		return admin.PolicyEntry{}, err
	}
	return s.Rule(ctx, p, rule.Name)
}

// keepFileFirst puts the rules of a settings file in force before all others, whatever
// place was asked for.
func (s *Policies) keepFileFirst(d *document, place admin.PolicyPlace) error {
	var fixed []string
	for i := range d.Rules {
		r := &d.Rules[i]
		err := s.o.CheckNotDeclared("rule", r.Name, r.Declared)
		if err == nil {
			continue
		}
		if r.Name == place.Before {
			return junctor.Errorf(junctor.CodeInvalid, "no rule can be put before %q: rules of the settings file %s come first", r.Name, r.Declared)
		}
		fixed = append(fixed, r.Name)
	}
	d.moveFirst(fixed)
	return nil
}

// checkReplaces refuses to change or remove a stored rule.
func (s *Policies) checkReplaces(p *junctor.Principal, r *storedRule, version time.Time) error {
	if err := checkOperator(p, &r.PolicyRule); err != nil {
		return err
	}
	if err := s.o.CheckNotDeclared("rule", r.Name, r.Declared); err != nil {
		return err
	}
	return junctor.CheckVersion(version, r.UpdatedAt)
}

// stamp sets when and by whom a rule is changed. The time is its version and so always
// grows.
func (s *Policies) stamp(p *junctor.Principal, d *document, r *storedRule) {
	r.UpdatedAt, r.UpdatedBy = s.o.Now().UTC().Truncate(time.Microsecond), p.ID()
	if at := d.find(r.Name); at >= 0 && !r.UpdatedAt.After(d.Rules[at].UpdatedAt) {
		r.UpdatedAt = d.Rules[at].UpdatedAt.Add(time.Microsecond)
	}
}

// RemovePolicyRule implements admin.Policies.
func (s *Policies) RemovePolicyRule(ctx context.Context, p *junctor.Principal, name string, version time.Time) error {
	return s.change(ctx, p, false, func(d *document) error {
		at := d.find(name)
		if at < 0 {
			return unknownRule(name)
		}
		if err := s.checkReplaces(p, &d.Rules[at], version); err != nil {
			return err
		}
		d.remove(name)
		return nil
	})
}

// ReplacePolicyRules implements admin.Policies. Rules that a settings file in force
// declares stay, before the others.
func (s *Policies) ReplacePolicyRules(ctx context.Context, p *junctor.Principal, list []junctor.PolicyRule, version time.Time, strict bool) error {
	if err := s.admit(ctx, p, list, strict); err != nil {
		return err
	}
	return s.change(ctx, p, true, func(d *document) error {
		if err := junctor.CheckVersion(version, d.version); err != nil {
			return err
		}
		next := &document{version: d.version}
		for i := range d.Rules {
			r := &d.Rules[i]
			fixed := s.o.CheckNotDeclared("rule", r.Name, r.Declared)
			if fixed == nil && r.IsOperators() && !p.Operator() {
				fixed = checkOperator(p, &r.PolicyRule)
			}
			if fixed == nil {
				continue
			}
			if at := slices.IndexFunc(list, func(one junctor.PolicyRule) bool { return one.Name == r.Name }); at >= 0 && !isSame(&list[at], &r.PolicyRule) {
				return fixed
			}
			next.Rules = append(next.Rules, *r)
		}
		for i := range list {
			if next.find(list[i].Name) >= 0 {
				continue
			}
			r := storedRule{PolicyRule: list[i]}
			if at := d.find(r.Name); at >= 0 && isSame(&d.Rules[at].PolicyRule, &r.PolicyRule) {
				r = d.Rules[at]
				r.Declared = ""
			} else {
				s.stamp(p, d, &r)
			}
			if err := next.put(&r); err != nil {
				return err
			}
		}
		d.Rules = next.Rules
		return nil
	})
}

// admit refuses rules that the principal may not store, and rules that do not check.
func (s *Policies) admit(ctx context.Context, p *junctor.Principal, list []junctor.PolicyRule, strict bool) error {
	for i := range list {
		if err := checkOperator(p, &list[i]); err != nil {
			return err
		}
	}
	problems, err := s.CheckPolicyRules(ctx, p, list)
	if err != nil {
		return err
	}
	if !strict {
		problems = slices.DeleteFunc(problems, func(one admin.PolicyProblem) bool { return one.Warning })
	}
	if len(problems) > 0 {
		return &admin.PolicyProblemsError{Problems: problems}
	}
	return nil
}

// change changes the list of the principal's tenant in one transaction, puts it into
// effect here, and returns when no other replica judges by the former one. Only a change
// that replaces all rules may replace a list that cannot be read.
func (s *Policies) change(ctx context.Context, p *junctor.Principal, replaces bool, edit func(d *document) error) error {
	set, err := s.o.Store.For(p.Tenant).By(p.ID()).ChangeSetting(ctx, Setting, func(now store.Setting) (json.RawMessage, error) {
		d, err := parseDocument(&now)
		if err != nil && !replaces {
			return nil, err
		}
		if err != nil {
			d.Rules = nil
		}
		if err := edit(d); err != nil {
			return nil, err
		}
		return d.encode()
	})
	if err != nil {
		return err
	}
	d, err := parseDocument(&set)
	s.install(map[junctor.TenantID]*document{p.Tenant: d}, nil)
	if s.o.Announce != nil {
		s.o.Announce(ctx)
	}
	return err
}
