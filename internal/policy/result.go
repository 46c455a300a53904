package policy

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/redact"
)

// ResultDecision is what the rules say of a result.
type ResultDecision struct {
	Denied  bool // the result is withheld
	Rule    string
	Message string
	Error   error // why the rule could not be evaluated, if it denies for that

	Steps []ResultStep        // the changes to make, in order
	Hits  []junctor.PolicyHit // every rule that was evaluated, in order

	Undecidable, AwaitsFilter bool // as in Decision
}

// ResultStep is one change of a result.
type ResultStep struct {
	Hit      int              // index of the rule in Hits
	Redactor *redact.Redactor // replaces what it finds; nil to cut
	MaxSize  int              // bytes of text that stay; with a nil Redactor
}

// Apply makes the change to a result, and returns how many texts it changed. fits
// reports whether structured content fits the tool's output schema. The error is a
// result that cannot be changed so that it still fits.
func (s *ResultStep) Apply(kind junctor.Kind, body []byte, fits func(structured []byte) bool) (out []byte, changed int, err error) {
	if s.Redactor == nil {
		return redact.Cut(kind, body, s.MaxSize, fits)
	}
	return s.Redactor.Result(kind, body, fits)
}

// JudgeResult decides about the result of a call. Unlike those of calls, all rules
// that match apply, in order; one that denies ends the search. Conditions see the
// result as the server gave it.
func (s *Set) JudgeResult(ctx context.Context, c *Call, result []byte) ResultDecision {
	var d ResultDecision
	if !s.HasResultRules() {
		return d
	}
	e := s.entryOf(c.Kind, c.Server, c.Name, c.Tool)
	if len(e.results) == 0 {
		return d
	}
	v := &variables{call: c, node: e.node, result: result}
	for _, r := range e.results {
		if !r.target.matchesSubject(&c.Subject) {
			continue
		}
		came, err := r.value(v)
		hit := r.newHit(came, err)
		verdict, message := r.Verdict, r.Message
		matched := came == isTrue || came == isError && r.failsClosed()
		switch {
		case came == isUnknown:
			if r.Mode == junctor.ModeEnforce {
				d.Undecidable, d.AwaitsFilter = true, d.AwaitsFilter || err != nil
			}
		case came == isError:
			verdict = junctor.VerdictDeny
		case matched && r.Filter != nil:
			verdict, message, hit.Error = s.askFilter(ctx, r.rule, c, result)
			hit.Verdict = verdict
			matched = verdict != junctor.VerdictAllow
		}
		if !matched || r.Mode == junctor.ModeAudit {
			d.Hits = append(d.Hits, hit)
			continue
		}
		hit.Decided = true
		d.Hits = append(d.Hits, hit)
		switch verdict {
		case junctor.VerdictRedact:
			d.Steps = append(d.Steps, ResultStep{Hit: len(d.Hits) - 1, Redactor: r.redactor})
		case junctor.VerdictCut:
			d.Steps = append(d.Steps, ResultStep{Hit: len(d.Hits) - 1, MaxSize: r.MaxSize})
		default:
			d.Denied, d.Rule, d.Message, d.Error = true, r.Name, message, err
			return d
		}
	}
	return d
}
