package admin

import (
	"context"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// rulebook has two rules.
type rulebook struct{}

func (rulebook) PolicyRules(context.Context, *junctor.Principal) ([]PolicyEntry, time.Time, error) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list := []PolicyEntry{}
	for i, name := range []string{"no-deletes", "demo__echo"} {
		list = append(list, PolicyEntry{
			PolicyRule: junctor.PolicyRule{Name: name, Verdict: junctor.VerdictDeny}, Position: i + 1, Version: "v", State: PolicyActive, UpdatedAt: at, UpdatedBy: "user:u1",
		})
	}
	return list, at, nil
}

func (r rulebook) PutPolicyRule(_ context.Context, _ *junctor.Principal, rule junctor.PolicyRule, how PutPolicy) (PolicyEntry, error) {
	if rule.When == "bad" {
		return PolicyEntry{}, &PolicyProblemsError{[]PolicyProblem{{Rule: rule.Name, Line: 1, Column: 1, Message: "undeclared reference to 'bad'"}, {Rule: rule.Name, Line: 2, Column: 3, Message: "and another", Suggestion: "did you mean args?"}}}
	}
	list, at, _ := r.PolicyRules(context.Background(), nil)
	if err := junctor.CheckVersion(how.Version, at); err != nil {
		return PolicyEntry{}, err
	}
	list[0].PolicyRule, list[0].Position = rule, 1
	if how.Place.Last {
		list[0].Position = 2
	}
	return list[0], nil
}

func (r rulebook) RemovePolicyRule(_ context.Context, _ *junctor.Principal, name string, version time.Time) error {
	_, at, _ := r.PolicyRules(context.Background(), nil)
	if name == "gone" {
		return junctor.Errorf(junctor.CodeNotFound, "there is none")
	}
	return junctor.CheckVersion(version, at)
}

func (r rulebook) ReplacePolicyRules(_ context.Context, _ *junctor.Principal, _ []junctor.PolicyRule, version time.Time, _ bool) error {
	_, at, _ := r.PolicyRules(context.Background(), nil)
	return junctor.CheckVersion(version, at)
}

func (rulebook) CheckPolicyRules(_ context.Context, _ *junctor.Principal, rules []junctor.PolicyRule) (out []PolicyProblem, err error) {
	for i := range rules {
		if rules[i].When == "bad" {
			out = append(out, PolicyProblem{Rule: rules[i].Name, Line: 1, Column: 1, Message: "undeclared reference to 'bad'"})
		}
	}
	return out, nil
}

func (rulebook) SimulatePolicies(context.Context, *junctor.Principal, junctor.CallAccess, SimulatePolicies) (PolicySimulation, error) {
	return PolicySimulation{Calls: 3, Differences: []PolicyDifference{}, Rules: []PolicyRuleCount{}}, nil
}

func (rulebook) ExplainPolicies(_ context.Context, _ *junctor.Principal, e *history.Entry) (PolicyExplanation, error) {
	return PolicyExplanation{Call: e.ID, Recorded: []junctor.PolicyHit{}, Verdict: "made", Rules: []PolicyTrace{}, Inputs: []byte("{}")}, nil
}

func (rulebook) TestPolicies(_ context.Context, _ *junctor.Principal, _ []junctor.PolicyRule, cases []PolicyCase) ([]PolicyCaseResult, error) {
	out := make([]PolicyCaseResult, len(cases))
	for i := range cases {
		out[i] = PolicyCaseResult{Name: cases[i].Name, OK: cases[i].Expect == "made", Got: "made"}
	}
	return out, nil
}

func (rulebook) PolicyTemplates() []junctor.PolicyRule {
	return []junctor.PolicyRule{{Name: "no-deletes", Verdict: junctor.VerdictDeny}}
}

func TestPolicyRoutes(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	const put = `{"verdict":"deny","target":{"items":["*/delete_*"]}}`
	for _, c := range []struct {
		name, scopes, method, path, body string
		status                           int
		want                             string
	}{
		{"list", "audit:read", "GET", "/policies", "", 200, `"name":"no-deletes"`},
		{"list with the other scope", "policy:write", "GET", "/policies?limit=1", "", 200, `"total":2`},
		{"list without", "tools:read,servers:write", "GET", "/policies", "", 403, "policy:write"},
		{"show", "audit:read", "GET", "/policies/demo__echo", "", 200, `"position":2`},
		{"show none", "audit:read", "GET", "/policies/none", "", 404, "unknown rule"},
		{"put", "policy:write", "PUT", "/policies/x?last=true", put, 200, `"position":2`},
		{"put with audit:read alone", "audit:read", "PUT", "/policies/x", put, 403, "policy:write"},
		{"put what does not check", "policy:write", "PUT", "/policies/x", `{"verdict":"deny","when":"bad"}`, 422, `"line":2,"column":3,"message":"and another"`},
		{"put an unknown verdict", "policy:write", "PUT", "/policies/x", `{"verdict":"maybe"}`, 422, "verdict"},
		{"delete", "policy:write", "DELETE", "/policies/demo__echo", "", 204, ""},
		{"delete none", "policy:write", "DELETE", "/policies/gone", "", 404, ""},
		{"replace", "policy:write", "PUT", "/policies", `{"rules":[{"name":"a","verdict":"deny"}]}`, 200, `"items":[`},
		{"check", "policy:write", "POST", "/policies/check", `{"rules":[{"name":"a","verdict":"deny","when":"bad"}]}`, 200, `"line":1`},
		{"check needs the right to change", "audit:read", "POST", "/policies/check", `{"rules":[]}`, 403, ""},
		{"simulate", "policy:write", "POST", "/policies/simulate", `{}`, 200, `"calls":3`},
		{"test", "policy:write", "POST", "/policies/test", `{"cases":[{"call":"a/b","expect":"denied"},{"call":"a/b","expect":"made"}]}`, 200, `"failed":1`},
		{"templates", "audit:read", "GET", "/policy-templates", "", 200, `"no-deletes"`},
	} {
		rec := ask(h, c.scopes, c.method, c.path, c.body)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "audit:read", "GET", "/policies", ""); rec.Header().Get("ETag") != `"2026-01-02T03:04:05Z"` {
		t.Errorf("the list has the version %q", rec.Header().Get("ETag"))
	}
}
