package policies

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// TestPolicies implements admin.Policies. Webhooks are not asked: a rule with one counts as
// one without an objection.
func (s *Policies) TestPolicies(ctx context.Context, p *junctor.Principal, list []junctor.PolicyRule, cases []admin.PolicyCase) ([]admin.PolicyCaseResult, error) {
	for i := range list {
		if err := checkOperator(p, &list[i]); err != nil {
			return nil, err
		}
	}
	if list != nil {
		if err := s.admit(ctx, p, list, false); err != nil {
			return nil, err
		}
	}
	set, asked := s.simulated(s.rulesFor(p.Tenant, list))
	out := make([]admin.PolicyCaseResult, len(cases))
	for i := range cases {
		c := &cases[i]
		call, err := s.madeUp(p.Tenant, c)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "case %d: %s", i+1, junctor.AsError(err).Message)
		}
		var why admin.PolicyUndecidable
		got := judge(ctx, set, call, asked, &why)
		r := admin.PolicyCaseResult{Name: cmp.Or(c.Name, fmt.Sprintf("case %d: %s", i+1, c.Call)), Got: got.end, Rule: got.rule}
		switch {
		case got.end != c.Expect:
			r.Problem = fmt.Sprintf("expected %s, got %s", c.Expect, got.end)
			if got.rule != "" {
				r.Problem += " by the rule " + got.rule
			}
		case c.Rule != "" && c.Rule != got.rule:
			r.Problem = fmt.Sprintf("expected the rule %s to decide, and %s did", c.Rule, cmp.Or(got.rule, "none"))
		default:
			r.OK = true
		}
		for _, hit := range junctor.LimitHits(p.Tenant, got.hits) {
			if hit.Error != "" && !r.OK {
				r.Problem += fmt.Sprintf("; the rule %s: %s", hit.Rule, hit.Error)
			}
		}
		out[i] = r
	}
	return out, nil
}

// madeUp returns the call of a case.
func (s *Policies) madeUp(tenant junctor.TenantID, c *admin.PolicyCase) (*recordedCall, error) {
	server, name, ok := strings.Cut(c.Call, "/")
	if !ok || server == "" || name == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "call must be server/tool, such as files/delete_file, not %q", c.Call)
	}
	if !slices.Contains([]string{endMade, endDenied, endAsked, endRedacted, endCut}, c.Expect) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "expect must be made, denied, asked, redacted or cut, not %q", c.Expect)
	}
	if len(c.Args) > 0 && c.Args[0] != '{' {
		return nil, junctor.Errorf(junctor.CodeInvalid, "args must be an object")
	}
	out := &recordedCall{hasFacts: true, noResult: c.Result == nil, result: c.Result, Call: policy.Call{
		Subject: policy.Subject{
			Tenant: tenant, User: c.Principal.User, Agent: c.Principal.Agent, Role: c.Principal.Role, Groups: c.Principal.Groups, Key: c.Principal.Key, Client: c.Principal.Client,
		},
		Kind: cmp.Or(c.Kind, junctor.KindTool), Server: server, Name: name, Arguments: c.Args,
		EntryPoint: cmp.Or(c.EntryPoint, junctor.EntryMCP), Address: c.Address, Time: c.Time,
	}}
	if !slices.Contains(junctor.PolicyKinds(), out.Kind) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "unknown kind %q", string(out.Kind))
	}
	if out.Time.IsZero() {
		out.Time = s.o.Now()
	}
	if out.Kind != junctor.KindTool {
		return out, nil
	}
	if out.Tool = s.toolOf(tenant, server, name, ""); out.Tool == nil {
		out.Tool = &policy.Tool{Server: server, Name: name}
	}
	if c.Tool != nil {
		for _, one := range []struct {
			to *junctor.Hint
			is *bool
		}{{&out.Tool.Hints.ReadOnly, c.Tool.ReadOnly}, {&out.Tool.Hints.Destructive, c.Tool.Destructive}, {&out.Tool.Hints.Idempotent, c.Tool.Idempotent}, {&out.Tool.Hints.OpenWorld, c.Tool.OpenWorld}} {
			if one.is != nil {
				*one.to = junctor.HintFalse
				if *one.is {
					*one.to = junctor.HintTrue
				}
			}
		}
		if c.Tool.Tags != nil {
			out.Tool.Tags = c.Tool.Tags
		}
	}
	return out, nil
}
