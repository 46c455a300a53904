package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Set is the rules for the calls of one tenant, compiled: those of operators, then
// the tenant's own. It never changes, and is safe for concurrent use.
type Set struct {
	compiler *Compiler
	levels   [2][]*rule // of operators, of the tenant
	filter   Filter
	results  bool     // some rule is about results
	entries  sync.Map // itemKey to *entry, for tools and prompts
}

// Filter asks webhooks for verdicts.
type Filter interface {
	// Ask returns the verdict about a call or, if result is not nil, about its result:
	// allow or deny, with a message for the caller. An error is a filter that could not
	// be asked.
	Ask(ctx context.Context, r *junctor.PolicyRule, c *Call, result []byte) (verdict junctor.PolicyVerdict, message string, err error)
}

// itemKey identifies a tool by its definition, or a prompt.
type itemKey struct {
	kind                 junctor.Kind
	server, name, digest string
}

// entry is the rules that can apply to calls of one item.
type entry struct {
	node    *schemaNode // of the arguments
	calls   [2][]applied
	results []applied // of both levels, in order
}

// applied is a rule for one item. problem is why the rule cannot be evaluated for
// it: then the rule fails closed.
type applied struct {
	*rule
	problem error
}

// Compile compiles the rules of operators and those of a tenant, each in its order.
// A rule that cannot be compiled stays in the set and fails closed. filter may be
// nil if no rule has one.
func (c *Compiler) Compile(operators, own []junctor.PolicyRule, filter Filter) *Set {
	s := &Set{compiler: c, filter: filter}
	for level, rules := range [2][]junctor.PolicyRule{operators, own} {
		for i := range rules {
			r := c.compileRule(&rules[i])
			s.levels[level] = append(s.levels[level], r)
			s.results = s.results || r.Phase == junctor.PhaseResult
		}
	}
	return s
}

// Empty reports whether there are no rules.
func (s *Set) Empty() bool { return s == nil || len(s.levels[0])+len(s.levels[1]) == 0 }

// CanApply reports whether some rule of a phase may be about calls of an item. It
// allocates nothing, so that calls without rules cost nothing.
func (s *Set) CanApply(phase junctor.PolicyPhase, kind junctor.Kind, server, name string) bool {
	if s.Empty() || phase == junctor.PhaseResult && !s.results {
		return false
	}
	for _, level := range &s.levels {
		for _, r := range level {
			if r.Phase == phase && r.target.matchesItem(kind, server, name) {
				return true
			}
		}
	}
	return false
}

// Version returns a digest of all rules and their order.
func (s *Set) Version() string {
	h := sha256.New()
	for _, level := range s.levels {
		for _, r := range level {
			h.Write([]byte(r.Name + " " + r.version + "\n"))
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// HasResultRules reports whether some rule is about results.
func (s *Set) HasResultRules() bool { return s != nil && s.results }

// Problems returns why rules of the set cannot be evaluated, by their names.
func (s *Set) Problems() map[string]error {
	found := map[string]error{}
	for _, level := range s.levels {
		for _, r := range level {
			if r.broken != nil {
				found[r.Name] = r.broken
			}
		}
	}
	return found
}

// entryOf returns the rules for an item. Those of tools and prompts are kept: of
// resources callers choose the names.
func (s *Set) entryOf(kind junctor.Kind, server, name string, t *Tool) *entry {
	key := itemKey{kind: kind, server: server, name: name}
	if t != nil {
		key.digest = t.Digest
	}
	isKept := kind == junctor.KindTool && key.digest != "" || kind == junctor.KindPrompt
	if isKept {
		if e, ok := s.entries.Load(key); ok {
			return e.(*entry) //nolint:forcetypeassert // the map has entries alone
		}
	}
	e := &entry{}
	var types *toolTypes
	if t != nil && t.Definition != nil {
		types = newToolTypes(t.Definition)
		e.node = types.arguments
	}
	for level, rules := range s.levels {
		for _, r := range rules {
			if !r.target.matchesItem(kind, server, name) {
				continue
			}
			a := applied{rule: r, problem: r.broken}
			if a.problem == nil && r.needsTypes && types != nil {
				if problems := r.checkTool(s.compiler, t, func() *toolTypes { return types }); len(problems) > 0 {
					a.problem = junctor.Errorf(junctor.CodeInvalid, "the rule does not fit the tool: %s", problems[0].String())
				}
			}
			if r.Phase == junctor.PhaseResult {
				e.results = append(e.results, a)
			} else {
				e.calls[level] = append(e.calls[level], a)
			}
		}
	}
	if isKept {
		s.entries.Store(key, e)
	}
	return e
}

// Decision is what the rules say of a call.
type Decision struct {
	Verdict junctor.PolicyVerdict // deny, ask or allow; "" if no rule decided
	Rule    string                // the one that decided
	Message string                // for the caller, if the rule has one
	Error   error                 // why the rule could not be evaluated, if it denies for that
	Hits    []junctor.PolicyHit   // every rule that was evaluated, in order

	// Undecidable says that a rule depends on what is not known of a recorded call. The
	// other members are as far as the search came. AwaitsFilter says that it is the answer of
	// a webhook, which is asked about no record.
	Undecidable, AwaitsFilter bool
}

// JudgeCall decides about a call before it is made. The first rule that denies or
// asks decides. One that allows ends the search among the rules of its level.
func (s *Set) JudgeCall(ctx context.Context, c *Call) Decision {
	var d Decision
	if s.Empty() {
		return d
	}
	e := s.entryOf(c.Kind, c.Server, c.Name, c.Tool)
	if len(e.calls[0])+len(e.calls[1]) == 0 {
		return d
	}
	v := &variables{call: c, node: e.node}
	for _, rules := range e.calls {
		if s.judgeLevel(ctx, rules, v, &d) {
			return d
		}
	}
	return d
}

// judgeLevel evaluates the rules of one level. It reports whether the search is
// over.
func (s *Set) judgeLevel(ctx context.Context, rules []applied, v *variables, d *Decision) (over bool) {
	for _, r := range rules {
		if !r.target.matchesSubject(&v.call.Subject) {
			continue
		}
		came, err := r.value(v)
		hit := r.newHit(came, err)
		if came == isUnknown {
			d.Hits = append(d.Hits, hit)
			if r.Mode == junctor.ModeEnforce {
				d.Undecidable, d.AwaitsFilter = true, err != nil
				return true
			}
			continue
		}
		verdict, message := r.Verdict, r.Message
		matched := came == isTrue || came == isError && r.failsClosed()
		if matched && came == isTrue && r.Filter != nil {
			verdict, message, hit.Error = s.askFilter(ctx, r.rule, v.call, nil)
			hit.Verdict = verdict
			matched = verdict != junctor.VerdictAllow
		}
		if came == isError {
			verdict = junctor.VerdictDeny
		}
		if !matched || r.Mode == junctor.ModeAudit {
			d.Hits = append(d.Hits, hit)
			continue
		}
		hit.Decided = true
		d.Hits = append(d.Hits, hit)
		d.Verdict, d.Rule, d.Message, d.Error = verdict, r.Name, message, err
		return verdict != junctor.VerdictAllow
	}
	return false
}

// newHit returns what a rule came to.
func (r *rule) newHit(came value, err error) junctor.PolicyHit {
	hit := junctor.PolicyHit{Rule: r.Name, Version: r.version, Verdict: r.Verdict, Mode: r.Mode, Value: came.String(), Operators: r.IsOperators()}
	if err != nil {
		hit.Error = junctor.ShortenText(err.Error(), maxErrorLength)
	}
	return hit
}

// maxErrorLength bounds the reason of a condition that could not be evaluated, in
// records.
const maxErrorLength = 300

// value evaluates a rule for one item. The value is unknown for records alone, with an error if
// a webhook decides.
func (r *applied) value(v *variables) (value, error) {
	if r.problem != nil {
		return isError, r.problem
	}
	came, err := r.evaluate(v)
	switch {
	case came == isUnknown && !v.call.Recorded:
		return isError, junctor.Errorf(junctor.CodeInvalid, "the condition depends on the arguments of the call, which are not known any more when the result of its task is read")
	case came == isTrue && r.Filter != nil && v.call.Recorded:
		return isUnknown, junctor.Errorf(junctor.CodeUnavailable, "a webhook decides about the call, and is not asked about a recorded one")
	}
	return came, err
}

// askFilter returns the verdict of a rule's filter: deny, or allow if it has no
// objection. reason says why the filter could not be asked.
func (s *Set) askFilter(ctx context.Context, r *rule, c *Call, result []byte) (verdict junctor.PolicyVerdict, message, reason string) {
	err := error(junctor.Errorf(junctor.CodeUnavailable, "filters are not asked here"))
	if s.filter != nil {
		verdict, message, err = s.filter.Ask(ctx, &r.PolicyRule, c, result)
	}
	if err == nil {
		if message == "" {
			message = r.Message
		}
		return verdict, message, ""
	}
	verdict = junctor.VerdictDeny
	if r.Filter.OnFailure == junctor.VerdictAllow {
		verdict = junctor.VerdictAllow
	}
	return verdict, r.Message, junctor.ShortenText(err.Error(), maxErrorLength)
}
