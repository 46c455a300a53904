package policies

import (
	"context"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// Ends of a call as far as rules decide it.
const (
	endMade     = "made"
	endDenied   = "denied"
	endAsked    = "asked"
	endRedacted = "redacted"
	endCut      = "cut"
)

// recordedEnd returns how rules ended a recorded call, and the rule that did.
func recordedEnd(e *history.Entry) (end, rule string) {
	end = endMade
	for _, hit := range hitsOf(e) {
		if !hit.Decided || hit.Mode == junctor.ModeAudit {
			continue
		}
		switch {
		case hit.Value == "error" && hit.Verdict != junctor.VerdictAllow:
			return endDenied, hit.Rule
		case hit.Verdict == junctor.VerdictDeny:
			return endDenied, hit.Rule
		case hit.Verdict == junctor.VerdictAsk:
			return endAsked, hit.Rule
		case hit.Verdict == junctor.VerdictRedact && hit.Changed > 0:
			end, rule = endRedacted, hit.Rule
		case hit.Verdict == junctor.VerdictCut && hit.Changed > 0:
			end, rule = endCut, hit.Rule
		}
	}
	return end, rule
}

// outcome is what rules come to for a call that is not made.
type outcome struct {
	end, rule   string
	hits        []junctor.PolicyHit
	undecidable *int // the counter of the reason why nothing is known; nil if it is
}

// judge evaluates rules on a call. why has the counters of what is not known; asked reports
// that a webhook would have been asked.
func judge(ctx context.Context, set *policy.Set, c *recordedCall, asked *notAsked, why *admin.PolicyUndecidable) outcome {
	asked.did.Store(false)
	d := set.JudgeCall(ctx, &c.Call)
	out := outcome{end: endMade, rule: d.Rule, hits: d.Hits}
	switch {
	case len(d.Hits) > 0 && !c.hasFacts:
		out.undecidable = &why.Facts
	case asked.did.Load() || d.AwaitsFilter:
		out.undecidable = &why.Filter
	case d.Undecidable:
		out.undecidable = &why.Arguments
	case d.Verdict == junctor.VerdictAsk:
		out.end = endAsked
	case d.Verdict == junctor.VerdictDeny:
		out.end = endDenied
	}
	if out.end != endMade || out.undecidable != nil || !set.HasResultRules() || c.noResult {
		return out
	}
	r := set.JudgeResult(ctx, &c.Call, c.result)
	out.hits = append(out.hits, r.Hits...)
	switch {
	case len(r.Hits) > 0 && !c.hasFacts:
		out.undecidable = &why.Facts
	case asked.did.Load():
		out.undecidable = &why.Filter
	case r.Denied:
		out.end, out.rule = endDenied, r.Rule
	case r.AwaitsFilter:
		out.undecidable = &why.Filter
	case r.Undecidable || len(r.Steps) > 0 && c.result == nil:
		out.undecidable = &why.Result
	default:
		switch end, hit, known := shapedEnd(ctx, c, &r); {
		case !known:
			out.undecidable = &why.Tool
		case hit >= 0:
			out.end, out.rule = end, r.Hits[hit].Rule
		}
	}
	return out
}

// notAsked stands in for webhooks where none may be asked, and notes that one would be.
type notAsked struct{ did atomic.Bool }

// Ask implements policy.Filter.
func (n *notAsked) Ask(context.Context, *junctor.PolicyRule, *policy.Call, []byte) (junctor.PolicyVerdict, string, error) {
	n.did.Store(true)
	return junctor.VerdictAllow, "", nil
}

// shapedEnd returns how the steps of rules change a result; -1 if they do not. It is not known
// if that depends on the output schema of a tool that has another definition now.
func shapedEnd(ctx context.Context, c *recordedCall, r *policy.ResultDecision) (end string, hit int, known bool) {
	end, hit, known = endMade, -1, true
	fits := func(structured []byte) bool {
		switch {
		case c.Tool == nil || c.Tool.Output == nil && !c.Recorded: // a made-up tool has no schema
			return true
		case c.Tool.Output == nil:
			known = false
			return true
		}
		return c.Tool.Output.FitsOutput(ctx, structured)
	}
	body := c.result
	for _, step := range r.Steps {
		out, changed, err := step.Apply(c.Kind, body, fits)
		if err != nil {
			return endDenied, step.Hit, known
		}
		if body = out; changed == 0 {
			continue
		}
		hit = step.Hit
		if end = endCut; step.Redactor != nil {
			end = endRedacted
		}
	}
	return end, hit, known
}
