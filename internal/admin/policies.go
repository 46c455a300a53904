package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// scopePolicies is the class of operations that show rules about calls. They require one
// of two scopes: policy:write, which changes rules, or audit:read, which reads what they
// did.
const scopePolicies junctor.Scope = "policies"

// Policies reads and changes the rules about calls. internal/policies implements it. A
// rule for several tenants is an operator's: only operators change it, and others see a
// part of it.
type Policies interface {
	// PolicyRules lists the rules for the calls of a tenant in the order in which they are
	// evaluated, operators' rules first. version is that of the tenant's own list.
	PolicyRules(ctx context.Context, p *junctor.Principal) (rules []PolicyEntry, version time.Time, err error)
	// PutPolicyRule stores a rule in place of the one of its name. A rule that does not
	// check is not stored; the error is a *PolicyProblemsError.
	PutPolicyRule(ctx context.Context, p *junctor.Principal, rule junctor.PolicyRule, how PutPolicy) (PolicyEntry, error)
	// RemovePolicyRule removes a rule. If version is not zero, it has to have that version.
	RemovePolicyRule(ctx context.Context, p *junctor.Principal, name string, version time.Time) error
	// ReplacePolicyRules replaces all rules of the tenant that no settings file declares. If
	// version is not zero, the list has to have that version.
	ReplacePolicyRules(ctx context.Context, p *junctor.Principal, rules []junctor.PolicyRule, version time.Time, strict bool) error
	// CheckPolicyRules returns what is wrong with rules, as if they were stored.
	CheckPolicyRules(ctx context.Context, p *junctor.Principal, rules []junctor.PolicyRule) ([]PolicyProblem, error)
	// SimulatePolicies evaluates rules, or with nil the stored ones, on recorded calls that
	// access allows. It reaches no server.
	SimulatePolicies(ctx context.Context, p *junctor.Principal, access junctor.CallAccess, in SimulatePolicies) (PolicySimulation, error)
	// ExplainPolicies evaluates the rules again on a recorded call. The caller has the right
	// to read its payload.
	ExplainPolicies(ctx context.Context, p *junctor.Principal, call *history.Entry) (PolicyExplanation, error)
	// TestPolicies evaluates cases against rules, or with nil against the stored ones.
	TestPolicies(ctx context.Context, p *junctor.Principal, rules []junctor.PolicyRule, cases []PolicyCase) ([]PolicyCaseResult, error)
	// PolicyTemplates lists the rules that come with Junctor to start from.
	PolicyTemplates() []junctor.PolicyRule
}

// PutPolicy says how a rule is stored.
type PutPolicy struct {
	Place   PolicyPlace
	Version time.Time // of the replaced rule; zero is any
	Strict  bool      // warnings are errors
}

// PolicyPlace is where a rule stands among the rules of its tenant. At most one member is
// set; without one, a rule keeps its place, and a new one is the last.
type PolicyPlace struct {
	Before string `query:"before" maxLength:"64" doc:"Name of the rule before which the rule is put."`
	After  string `query:"after" maxLength:"64" doc:"Name of the rule after which the rule is put."`
	First  bool   `query:"first" doc:"Whether the rule becomes the first one."`
	Last   bool   `query:"last" doc:"Whether the rule becomes the last one."`
}

// PolicyState says whether a rule is in effect.
type PolicyState string

// The states of rules. One that is unchecked or broken fails closed for the tools in
// question.
const (
	PolicyActive    PolicyState = "active"
	PolicyUnchecked PolicyState = "unchecked" // a server that the target names has not listed its tools yet
	PolicyBroken    PolicyState = "broken"    // the condition does not fit some tool of the target
)

// PolicyEntry is a rule with its place and state.
type PolicyEntry struct {
	junctor.PolicyRule
	Position  int             `json:"position" doc:"Place in the order of evaluation, from 1."`
	Version   string          `json:"version" doc:"Digest of the rule. Records of calls name it."`
	State     PolicyState     `json:"state" enum:"active,unchecked,broken" doc:"Whether the rule is in effect: unchecked if a server of its target has not listed its tools yet, broken if its condition does not fit a tool. A rule in either state denies calls of those tools, unless it allows or only records."`
	Problems  []PolicyProblem `json:"problems,omitempty" nullable:"false" doc:"Why the rule is not in effect, and warnings."`
	Operators bool            `json:"operators,omitempty" doc:"Whether the rule is an operator's, for several tenants."`
	Declared  string          `json:"declared,omitempty" doc:"Settings file that declares the rule. It can only be changed there."`
	UpdatedAt time.Time       `json:"updated_at" doc:"When the rule was last changed."`
	UpdatedBy string          `json:"updated_by,omitempty" doc:"Who last changed the rule, if known."`

	// Restricted is set on an operator's rule for a reader of another tenant.
	Restricted bool `json:"restricted,omitempty" doc:"Whether target, condition and filter are left out, because the rule is an operator's."`
}

// PolicyProblem is something that is wrong with a rule.
type PolicyProblem struct {
	Rule       string `json:"rule" doc:"Name of the rule."`
	Field      string `json:"field,omitempty" doc:"Field of the rule that is wrong, if it is not the condition."`
	Tool       string `json:"tool,omitempty" doc:"Tool that the condition does not fit, as server/tool."`
	Line       int    `json:"line,omitempty" doc:"Line in the condition, from 1."`
	Column     int    `json:"column,omitempty" doc:"Column in the line, from 1."`
	Message    string `json:"message" doc:"What is wrong."`
	Suggestion string `json:"suggestion,omitempty" doc:"What could be meant."`
	Warning    bool   `json:"warning,omitempty" doc:"Whether the rule can be stored nevertheless, unless strict is set."`
}

// SimulatePolicies is a question about recorded calls.
type SimulatePolicies struct {
	Rules        []junctor.PolicyRule // nil: the stored ones
	Since, Until time.Time
	Limit        int // the most calls that are read
}

// PolicySimulation says which recorded calls would have ended otherwise.
type PolicySimulation struct {
	Since       time.Time          `json:"since"`
	Until       time.Time          `json:"until"`
	Calls       int                `json:"calls" doc:"Recorded calls in that time that the caller may read."`
	Decided     int                `json:"decided" doc:"Calls for which the rules could be evaluated."`
	Changed     int                `json:"changed" doc:"Calls that would have ended otherwise."`
	Undecidable PolicyUndecidable  `json:"undecidable" doc:"Calls for which the rules could not be evaluated, by reason."`
	Total       int                `json:"total,omitempty" doc:"All calls in that time, as the numbers over time have them. The history may keep only some of them. Absent if the caller does not see all calls."`
	Share       float64            `json:"share,omitempty" doc:"Share of all calls in that time that the history has, from 0 to 1. Absent if total is."`
	Partial     bool               `json:"partial,omitempty" doc:"Whether older calls were not read, because there are too many."`
	Differences []PolicyDifference `json:"differences" nullable:"false" doc:"Calls that would have ended otherwise, by rule, tool and agent, most calls first."`
	Rules       []PolicyRuleCount  `json:"rules" nullable:"false" doc:"How often each rule would have matched, in the order of evaluation."`
	Problems    []PolicyProblem    `json:"problems,omitempty" nullable:"false" doc:"What is wrong with the rules. A rule that does not check fails closed, here as in operation."`
}

// PolicyUndecidable counts calls that rules could not be evaluated on.
type PolicyUndecidable struct {
	Arguments int `json:"arguments" doc:"Calls whose recorded arguments are cut or redacted, or that the caller may not read."`
	Facts     int `json:"facts" doc:"Calls that were recorded without what rules can read."`
	Result    int `json:"result" doc:"Calls whose recorded result is cut or redacted, for rules about results."`
	Filter    int `json:"filter" doc:"Calls about which a webhook would have decided. Simulation calls none."`
	Tool      int `json:"tool" doc:"Calls of tools that have another definition now, for rules that change structured results: whether these still fit the output schema is not known."`
}

// PolicyDifference is calls of one tool by one agent that one rule would have ended
// otherwise.
type PolicyDifference struct {
	Rule    string   `json:"rule,omitempty" doc:"Rule that would have decided, or that decided and no longer would."`
	Tool    string   `json:"tool" doc:"Tool, as server/tool, or another item."`
	Agent   string   `json:"agent,omitempty"`
	From    string   `json:"from" doc:"What happened: made or denied."`
	To      string   `json:"to" doc:"What would have happened: made, denied, asked, redacted or cut."`
	Calls   int      `json:"calls"`
	Samples []string `json:"samples" nullable:"false" doc:"IDs of some of the calls."`
}

// PolicyRuleCount is how often a rule would have matched.
type PolicyRuleCount struct {
	Rule    string             `json:"rule"`
	Mode    junctor.PolicyMode `json:"mode"`
	Matched int                `json:"matched" doc:"Calls that the rule would have matched."`
	Errors  int                `json:"errors,omitempty" doc:"Calls for which the condition failed."`
}

// PolicyExplanation says what the rules came to for a call.
type PolicyExplanation struct {
	Call     string              `json:"call" doc:"ID of the call."`
	Recorded []junctor.PolicyHit `json:"recorded" nullable:"false" doc:"What the rules did when the call was made."`
	Verdict  string              `json:"verdict" doc:"What the rules come to now: made, denied, asked, or undecidable."`
	Rule     string              `json:"rule,omitempty" doc:"The rule that decides now."`
	Rules    []PolicyTrace       `json:"rules" nullable:"false" doc:"Every rule that is evaluated for the call now, in order."`
	Inputs   json.RawMessage     `json:"inputs" doc:"What the conditions read: principal, tool, args and request."`
	Notes    []string            `json:"notes,omitempty" nullable:"false" doc:"Why the answer may differ from what happened, such as a rule that was changed since."`
}

// PolicyTrace is one rule of an explanation.
type PolicyTrace struct {
	Rule      string                `json:"rule"`
	Version   string                `json:"version"`
	Phase     junctor.PolicyPhase   `json:"phase"`
	Verdict   junctor.PolicyVerdict `json:"verdict"`
	Mode      junctor.PolicyMode    `json:"mode"`
	Value     string                `json:"value" doc:"What the condition comes to: true, false, error, unknown, or skipped if an earlier rule decided."`
	Error     string                `json:"error,omitempty"`
	Decided   bool                  `json:"decided,omitempty"`
	Parts     []PolicyTracePart     `json:"parts,omitempty" nullable:"false" doc:"The parts of the condition that decided, with their values."`
	Operators bool                  `json:"operators,omitempty" doc:"Whether the rule is an operator's. Its parts are shown to operators only."`
}

// PolicyTracePart is a part of a condition and its value.
type PolicyTracePart struct {
	Expression string   `json:"expression"`
	Value      string   `json:"value"`
	Inputs     []string `json:"inputs,omitempty" nullable:"false" doc:"What the part read, such as args.path = \"/etc/passwd\"."`
}

// PolicyCase is a call that is made up to test rules.
type PolicyCase struct {
	Name       string              `json:"name,omitempty" maxLength:"200" doc:"What the case shows."`
	Principal  PolicyCasePrincipal `json:"principal,omitzero" doc:"Who calls."`
	Kind       junctor.Kind        `json:"kind,omitempty" doc:"Kind of the operation; tool by default."`
	Call       string              `json:"call" maxLength:"4096" doc:"What is called, as server/tool or server/URI."`
	Args       json.RawMessage     `json:"args,omitempty" doc:"Arguments, a JSON object."`
	Tool       *PolicyCaseTool     `json:"tool,omitempty" doc:"What is known of the tool. If absent, it is the tool of the catalog."`
	EntryPoint junctor.EntryPoint  `json:"entry_point,omitempty" doc:"How the call comes in; mcp by default."`
	Address    netip.Addr          `json:"address,omitzero" doc:"Address of the client."`
	Time       time.Time           `json:"time,omitzero" doc:"When the call is made; now by default."`
	Result     json.RawMessage     `json:"result,omitempty" doc:"Result of the call, for rules about results: an MCP result object."`
	Expect     string              `json:"expect" enum:"made,denied,asked,redacted,cut" doc:"What should happen."`
	Rule       string              `json:"rule,omitempty" maxLength:"64" doc:"The rule that should decide; any if absent."`
}

// PolicyCasePrincipal is the caller of a case.
type PolicyCasePrincipal struct {
	User   string   `json:"user,omitempty" doc:"Name of the user."`
	Agent  string   `json:"agent,omitempty" doc:"Name of the agent."`
	Role   string   `json:"role,omitempty" doc:"Role of the agent, or else of the user."`
	Groups []string `json:"groups,omitempty" nullable:"false"`
	Key    string   `json:"key,omitempty"`
	Client string   `json:"client,omitempty"`
}

// PolicyCaseTool is what a case says of a tool.
type PolicyCaseTool struct {
	ReadOnly    *bool    `json:"read_only,omitempty"`
	Destructive *bool    `json:"destructive,omitempty"`
	Idempotent  *bool    `json:"idempotent,omitempty"`
	OpenWorld   *bool    `json:"open_world,omitempty"`
	Tags        []string `json:"tags,omitempty" nullable:"false"`
}

// PolicyCaseResult is what came of a case.
type PolicyCaseResult struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Got     string `json:"got" doc:"What happens: made, denied, asked, redacted or cut."`
	Rule    string `json:"rule,omitempty" doc:"The rule that decides."`
	Problem string `json:"problem,omitempty" doc:"How the case differs from what was expected."`
}

// PolicyProblemsError is the error of rules that do not check.
type PolicyProblemsError struct{ Problems []PolicyProblem }

// Error implements error.
func (f *PolicyProblemsError) Error() string { return f.toError().Error() }

// Unwrap returns the error that callers see who do not know PolicyProblemsError.
func (f *PolicyProblemsError) Unwrap() error { return f.toError() }

func (f *PolicyProblemsError) toError() *junctor.Error {
	text := "the rules do not check"
	if len(f.Problems) > 0 {
		text = f.Problems[0].Text()
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s", text)
}

// Text returns the problem as one line for people.
func (p *PolicyProblem) Text() string {
	text := fmt.Sprintf("the rule %q", p.Rule)
	switch {
	case p.Line > 0:
		text += fmt.Sprintf(", line %d, column %d", p.Line, p.Column)
	case p.Field != "":
		text += ", " + p.Field
	}
	if p.Tool != "" {
		text += ", tool " + p.Tool
	}
	text += ": " + p.Message
	if p.Suggestion != "" {
		text += "; " + p.Suggestion
	}
	return text
}

type (
	policyName struct {
		Name string `path:"name" maxLength:"64" doc:"Name of the rule."`
	}
	deletePolicy struct {
		Precondition
		Name string `path:"name" maxLength:"64" doc:"Name of the rule."`
	}
	putPolicy struct {
		Precondition
		PolicyPlace
		Name   string `path:"name" maxLength:"64" doc:"Name of the rule."`
		Strict bool   `query:"strict" doc:"Whether warnings refuse the rule, such as a target that matches nothing."`
		Body   PolicyBody
	}
	replacePolicies struct {
		Precondition
		Strict bool `query:"strict" doc:"Whether warnings refuse the rules."`
		Body   struct {
			Rules []junctor.PolicyRule `json:"rules" nullable:"false" maxItems:"500" doc:"All rules, in order."`
		}
	}
	checkPolicies struct {
		Body struct {
			Rules []junctor.PolicyRule `json:"rules" nullable:"false" maxItems:"500" doc:"Rules to check, in order."`
		}
	}
	simulatePolicies struct {
		Body struct {
			Rules *[]junctor.PolicyRule `json:"rules,omitempty" maxItems:"500" doc:"Rules in place of the stored ones, in order. If absent, the stored rules are evaluated."`
			Since time.Time             `json:"since,omitzero" doc:"Only calls at this time or later; by default those of the last 7 days."`
			Until time.Time             `json:"until,omitzero" doc:"Only calls before this time."`
			Limit int                   `json:"limit,omitempty" minimum:"1" maximum:"1000000" doc:"The most calls to read, the newest first; 100000 by default."`
		}
	}
	testPolicies struct {
		Body struct {
			Rules *[]junctor.PolicyRule `json:"rules,omitempty" maxItems:"500" doc:"Rules in place of the stored ones. If absent, the stored rules are tested."`
			Cases []PolicyCase          `json:"cases" nullable:"false" maxItems:"10000" doc:"Calls with what is expected."`
		}
	}
	policyResponse     = versionedResponse[PolicyEntry]
	policyListResponse struct {
		ETag string `header:"ETag" doc:"Version of the list. Send it as If-Match when you replace all rules."`
		Body page[PolicyEntry]
	}
	policyProblems struct {
		Body struct {
			Problems []PolicyProblem `json:"problems" nullable:"false" doc:"What is wrong with the rules; empty if they could be stored as they are."`
		}
	}
	policySimulationResponse  struct{ Body PolicySimulation }
	policyExplanationResponse struct{ Body PolicyExplanation }
	policyTestResponse        struct {
		Body struct {
			Results []PolicyCaseResult `json:"results" nullable:"false" doc:"What came of each case, in order."`
			Failed  int                `json:"failed" doc:"Number of cases that did not end as expected."`
		}
	}
)

// PolicyBody is a rule without its name.
type PolicyBody struct {
	Title   string                `json:"title,omitempty" maxLength:"200" doc:"What the rule is for, for other operators."`
	Phase   junctor.PolicyPhase   `json:"phase,omitempty" enum:"call,result" doc:"What the rule is about: the call before it is made (the default), or its result."`
	Kinds   []junctor.Kind        `json:"kinds,omitempty" nullable:"false" doc:"Kinds of operations: tool (the default), resource, prompt, completion, subscription."`
	Target  junctor.PolicyTarget  `json:"target,omitzero" doc:"Which calls the rule is about. An empty list means all."`
	When    string                `json:"when,omitempty" maxLength:"8192" doc:"Condition in CEL. If it is empty, the rule matches every call of its target."`
	Verdict junctor.PolicyVerdict `json:"verdict" enum:"allow,deny,ask,redact,cut" doc:"What happens if the rule matches: allow, deny or ask for calls; deny, redact or cut for results."`
	Message string                `json:"message,omitempty" maxLength:"500" doc:"What the caller is told if the rule denies."`
	Redact  []string              `json:"redact,omitempty" nullable:"false" doc:"With the verdict redact: detectors, or pattern:RE2. Detectors: secrets, email, phone, iban, card, jwt."`
	MaxSize int                   `json:"max_size,omitempty" minimum:"0" doc:"With the verdict cut: the most bytes of a result's text."`
	Filter  *junctor.PolicyFilter `json:"filter,omitempty" doc:"A webhook that decides about the calls that match. Without it, the verdict applies."`
	Mode    junctor.PolicyMode    `json:"mode,omitempty" enum:"enforce,audit" doc:"enforce (the default), or audit, which only records what the rule would have done."`
}

// NewPolicyBody returns a rule without its name, as clients send it.
func NewPolicyBody(r *junctor.PolicyRule) PolicyBody {
	return PolicyBody{
		Title: r.Title, Phase: r.Phase, Kinds: r.Kinds, Target: r.Target, When: r.When, Verdict: r.Verdict,
		Message: r.Message, Redact: r.Redact, MaxSize: r.MaxSize, Filter: r.Filter, Mode: r.Mode,
	}
}

// toRule returns the rule with a name.
func (b *PolicyBody) toRule(name string) junctor.PolicyRule {
	return junctor.PolicyRule{
		Name: name, Title: b.Title, Phase: b.Phase, Kinds: b.Kinds, Target: b.Target, When: b.When, Verdict: b.Verdict,
		Message: b.Message, Redact: b.Redact, MaxSize: b.MaxSize, Filter: b.Filter, Mode: b.Mode,
	}
}

// maxPolicyBody bounds a request with rules or cases.
const maxPolicyBody = 16 << 20

// registerPolicyRoutes registers the routes below /policies, and the explanation of a call.
func (a *api) registerPolicyRoutes() {
	tags := []string{"policies"}
	registerList(a, huma.Operation{
		OperationID: "list-policy-templates", Method: http.MethodGet, Path: "/policy-templates", Summary: "List rules to start from", Tags: tags,
	}, policyTemplateList(), func(context.Context, *ListQuery) ([]junctor.PolicyRule, error) {
		return a.Policies.PolicyTemplates(), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "list-policies", Method: http.MethodGet, Path: "/policies", Summary: "List the rules about calls in the order in which they are evaluated", Tags: tags,
	}, a.listPolicies)
	shape := policyList()
	a.documentSorts("/policies", shape.sorts())
	registerRoute(a, huma.Operation{
		OperationID: "get-policy", Method: http.MethodGet, Path: "/policies/{name}", Summary: "Show a rule", Tags: tags,
	}, func(ctx context.Context, in *policyName) (*policyResponse, error) {
		one, err := a.policyRule(ctx, in.Name)
		return withVersion(one, one.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-policy", Method: http.MethodPut, Path: "/policies/{name}", Summary: "Add or change a rule, or move it", Tags: tags,
	}, func(ctx context.Context, in *putPolicy) (*policyResponse, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		one, err := a.Policies.PutPolicyRule(ctx, callerOf(ctx), in.Body.toRule(in.Name), PutPolicy{Place: in.PolicyPlace, Version: version, Strict: in.Strict})
		return withVersion(one, one.UpdatedAt), a.explainPolicyError(ctx, in.Name, err)
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-policy", Method: http.MethodDelete, Path: "/policies/{name}", Summary: "Remove a rule", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *deletePolicy) (*empty, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		return &empty{}, a.explainPolicyError(ctx, in.Name, a.Policies.RemovePolicyRule(ctx, callerOf(ctx), in.Name, version))
	})
	registerRoute(a, huma.Operation{
		OperationID: "replace-policies", Method: http.MethodPut, Path: "/policies", Summary: "Replace all rules of the tenant, except those that the settings file declares", Tags: tags, MaxBodyBytes: maxPolicyBody,
	}, func(ctx context.Context, in *replacePolicies) (*policyListResponse, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		if err := a.Policies.ReplacePolicyRules(ctx, callerOf(ctx), in.Body.Rules, version, in.Strict); err != nil {
			return nil, a.explainConflict(ctx, policyProblem(err), func() (storedVersion, error) {
				list, now, err := a.Policies.PolicyRules(ctx, callerOf(ctx))
				return storedVersion{label: "the list of rules", body: list, updatedAt: now}, err
			})
		}
		return a.policyPage(ctx, &ListQuery{Limit: junctor.MaxPolicyRules})
	})
	registerRoute(a, huma.Operation{
		OperationID: "check-policies", Method: http.MethodPost, Path: "/policies/check", Summary: "Check rules without storing them", Tags: tags, MaxBodyBytes: maxPolicyBody,
	}, func(ctx context.Context, in *checkPolicies) (*policyProblems, error) {
		list, err := a.Policies.CheckPolicyRules(ctx, callerOf(ctx), in.Body.Rules)
		out := &policyProblems{}
		out.Body.Problems = append([]PolicyProblem{}, list...)
		return out, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "simulate-policies", Method: http.MethodPost, Path: "/policies/simulate", Summary: "Evaluate rules on recorded calls", Tags: tags, MaxBodyBytes: maxPolicyBody,
	}, a.simulatePolicies)
	registerRoute(a, huma.Operation{
		OperationID: "test-policies", Method: http.MethodPost, Path: "/policies/test", Summary: "Evaluate rules on made-up calls", Tags: tags, MaxBodyBytes: maxPolicyBody,
	}, func(ctx context.Context, in *testPolicies) (*policyTestResponse, error) {
		results, err := a.Policies.TestPolicies(ctx, callerOf(ctx), rulesOf(in.Body.Rules), in.Body.Cases)
		out := &policyTestResponse{}
		out.Body.Results = append([]PolicyCaseResult{}, results...)
		for _, r := range results {
			if !r.OK {
				out.Body.Failed++
			}
		}
		return out, policyProblem(err)
	})
	registerRoute(a, huma.Operation{
		OperationID: "explain-call", Method: http.MethodGet, Path: "/calls/{id}/policies", Summary: "Explain what the rules came to for a call", Tags: []string{"policies", "calls"},
	}, func(ctx context.Context, in *callID) (*policyExplanationResponse, error) {
		access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		entry, err := a.findCall(ctx, access, in.ID)
		if err != nil {
			return nil, err
		}
		if entry.Restricted {
			return nil, junctor.Errorf(junctor.CodeDenied, "the payload of the call %s is not yours to read, and an explanation would show it; ask an admin", entry.ID)
		}
		out, err := a.Policies.ExplainPolicies(ctx, callerOf(ctx), &entry)
		return &policyExplanationResponse{out}, err
	})
}

// rulesOf returns the rules of a request; nil if it has none.
func rulesOf(list *[]junctor.PolicyRule) []junctor.PolicyRule {
	if list == nil {
		return nil
	}
	return append([]junctor.PolicyRule{}, *list...)
}

// policyTemplateList is the shape of list-policy-templates.
func policyTemplateList() listShape[junctor.PolicyRule] {
	return listShape[junctor.PolicyRule]{
		id:     func(r *junctor.PolicyRule) string { return r.Name },
		orders: []listOrder[junctor.PolicyRule]{byText("name", func(r *junctor.PolicyRule) string { return r.Name })},
		text:   func(r *junctor.PolicyRule) []string { return []string{r.Name, r.Title, r.When} },
	}
}

// policyList is the shape of list-policies.
func policyList() listShape[PolicyEntry] {
	return listShape[PolicyEntry]{
		id: func(r *PolicyEntry) string { return fmt.Sprintf("%06d", r.Position) },
		orders: []listOrder[PolicyEntry]{
			byNumber("position", func(r *PolicyEntry) int64 { return int64(r.Position) }),
			byText("name", func(r *PolicyEntry) string { return r.Name }),
			byTime("updated_at", func(r *PolicyEntry) time.Time { return r.UpdatedAt }),
		},
		text: func(r *PolicyEntry) []string { return []string{r.Name, r.Title, r.When, string(r.Verdict)} },
	}
}

// listPolicies handles list-policies.
func (a *api) listPolicies(ctx context.Context, in *ListQuery) (*policyListResponse, error) {
	return a.policyPage(ctx, in)
}

// policyPage returns a page of the rules, with the version of the list.
func (a *api) policyPage(ctx context.Context, q *ListQuery) (*policyListResponse, error) {
	list, version, err := a.Policies.PolicyRules(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	shape := policyList()
	page, err := shape.pageOf(list, q)
	if err != nil {
		return nil, err
	}
	return &policyListResponse{ETag: etagOf(version), Body: page.Body}, nil
}

// policyRule returns one rule that the caller sees; not_found if there is none. A rule of
// the tenant comes before an operator's rule of the same name.
func (a *api) policyRule(ctx context.Context, name string) (PolicyEntry, error) {
	list, _, err := a.Policies.PolicyRules(ctx, callerOf(ctx))
	if err != nil {
		return PolicyEntry{}, err
	}
	for _, one := range slices.Backward(list) {
		if one.Name == name {
			return one, nil
		}
	}
	return PolicyEntry{}, junctor.Errorf(junctor.CodeNotFound, "unknown rule %q; GET %s/policies lists the rules", name, Prefix)
}

// explainPolicyError turns the error of a change of a rule into a problem.
func (a *api) explainPolicyError(ctx context.Context, name string, err error) error {
	return a.explainConflict(ctx, policyProblem(err), func() (storedVersion, error) {
		one, err := a.policyRule(ctx, name)
		return storedVersion{fmt.Sprintf("the rule %q", name), one, one.UpdatedAt, one.UpdatedBy}, err
	})
}

// policyProblem shows all problems of rules that do not check, each as a fault of the
// request's body.
func policyProblem(err error) error {
	faults, ok := errors.AsType[*PolicyProblemsError](err)
	if !ok {
		return err
	}
	p := newProblem(err)
	p.Policy = faults.Problems
	for i := range faults.Problems {
		p.Errors = append(p.Errors, Fault{In: "body", Message: faults.Problems[i].Text()})
	}
	return p
}

// simulatePolicies handles simulate-policies.
func (a *api) simulatePolicies(ctx context.Context, in *simulatePolicies) (*policySimulationResponse, error) {
	access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	if err := a.History.Flush(ctx); err != nil {
		return nil, err
	}
	out, err := a.Policies.SimulatePolicies(ctx, callerOf(ctx), access, SimulatePolicies{
		Rules: rulesOf(in.Body.Rules), Since: in.Body.Since, Until: in.Body.Until, Limit: in.Body.Limit,
	})
	return &policySimulationResponse{out}, policyProblem(err)
}
