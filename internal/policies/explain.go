package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// ExplainPolicies implements admin.Policies.
func (s *Policies) ExplainPolicies(ctx context.Context, p *junctor.Principal, e *history.Entry) (admin.PolicyExplanation, error) {
	out := admin.PolicyExplanation{Call: e.ID, Recorded: append([]junctor.PolicyHit{}, junctor.LimitHits(p.Tenant, hitsOf(e))...), Rules: []admin.PolicyTrace{}}
	operators, own := s.rulesFor(e.Tenant, nil)
	set, asked := s.simulated(operators, own)
	c := s.recorded(e)
	var why admin.PolicyUndecidable
	now := judge(ctx, set, &c, asked, &why)
	out.Verdict, out.Rule = now.end, now.rule
	if now.undecidable != nil {
		*now.undecidable++
		out.Verdict, out.Rule = "undecidable", ""
	}
	mine := p.Operator() || e.Tenant == junctor.DefaultTenant
	isOperators := map[string]bool{}
	for i := range operators {
		isOperators[policy.Version(&operators[i])] = true
	}
	for _, t := range set.Explain(&c.Call, !c.noResult, c.result) {
		if !t.Applies {
			continue
		}
		one := admin.PolicyTrace{
			Rule: t.Rule, Version: t.Version, Phase: t.Phase, Verdict: t.Verdict, Mode: t.Mode, Value: t.Value, Error: t.Error, Decided: t.Decided, Operators: isOperators[t.Version],
		}
		if mine || !one.Operators {
			for _, part := range t.Parts {
				one.Parts = append(one.Parts, admin.PolicyTracePart{Expression: part.Text, Value: part.Value, Inputs: part.Inputs})
			}
		} else {
			one.Error = ""
		}
		out.Rules = append(out.Rules, one)
	}
	out.Notes = explainNotes(&c, e, &out, &why)
	inputs, err := json.Marshal(inputsOf(&c))
	out.Inputs = inputs
	return out, err
}

// explainNotes says why the explanation may differ from what happened.
func explainNotes(c *recordedCall, e *history.Entry, out *admin.PolicyExplanation, why *admin.PolicyUndecidable) (notes []string) {
	if !c.hasFacts {
		notes = append(notes, "the call was recorded without groups, address and annotations, which conditions may read")
	}
	if c.Incomplete {
		notes = append(notes, "the recorded arguments are cut or redacted, so that conditions that depend on them come to unknown")
	}
	switch {
	case c.noResult || c.result != nil:
	case isServerError(e):
		notes = append(notes, "the server answered with an error, which is not recorded as a result, so that conditions that depend on it come to unknown")
	default:
		notes = append(notes, "the recorded result is cut or redacted, so that conditions that depend on it come to unknown")
	}
	if c.Tool != nil && c.Tool.Definition == nil {
		notes = append(notes, "the tool has another definition now, or is no longer there")
	}
	if why.Filter > 0 {
		notes = append(notes, "a webhook decides about the call, and explanations ask none")
	}
	if why.Tool > 0 {
		notes = append(notes, "whether the changed result fits the tool's output schema is not known")
	}
	if wasRefused(e) && len(hitsOf(e)) == 0 {
		notes = append(notes, "the call was refused before rules were asked: "+e.Reason)
	}
	for _, hit := range hitsOf(e) {
		at := slices.IndexFunc(out.Rules, func(t admin.PolicyTrace) bool { return t.Rule == hit.Rule })
		switch {
		case at < 0:
			notes = append(notes, fmt.Sprintf("the rule %q is no longer evaluated for the call: it was removed or changed", hit.Rule))
		case out.Rules[at].Version != hit.Version:
			notes = append(notes, fmt.Sprintf("the rule %q was changed after the call", hit.Rule))
		}
	}
	return notes
}

// callInputs is what conditions read, as explanations show it.
type callInputs struct {
	Principal policy.Subject `json:"principal"`
	Tool      *toolInputs    `json:"tool,omitempty"`
	Args      any            `json:"args,omitempty"`
	Request   requestInputs  `json:"request"`
}

type toolInputs struct {
	Server string   `json:"server"`
	Name   string   `json:"name"`
	Tags   []string `json:"tags,omitempty"`
	Digest string   `json:"digest,omitempty"`

	ReadOnly    *bool `json:"read_only,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"open_world,omitempty"`
}

type requestInputs struct {
	EntryPoint junctor.EntryPoint `json:"entry_point"`
	Address    string             `json:"address,omitempty"`
	Time       time.Time          `json:"time"`
}

// inputsOf returns what conditions read of a call.
func inputsOf(c *recordedCall) callInputs {
	out := callInputs{Principal: c.Subject, Request: requestInputs{EntryPoint: c.EntryPoint, Time: c.Time}}
	if c.Address.IsValid() {
		out.Request.Address = c.Address.String()
	}
	if t := c.Tool; t != nil {
		out.Tool = &toolInputs{
			Server: c.Server, Name: c.Name, Tags: t.Tags, Digest: t.Digest,
			ReadOnly: hintValue(t.Hints.ReadOnly), Destructive: hintValue(t.Hints.Destructive), Idempotent: hintValue(t.Hints.Idempotent), OpenWorld: hintValue(t.Hints.OpenWorld),
		}
	}
	if !c.Incomplete && c.Arguments != nil {
		out.Args = json.RawMessage(c.Arguments)
	}
	return out
}

// hintValue returns a hint as JSON has it; nil if it is unknown.
func hintValue(h junctor.Hint) *bool {
	if h == junctor.HintUnknown {
		return nil
	}
	is := h == junctor.HintTrue
	return &is
}
