package junctor

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// PolicyRule is a rule of an operator about calls or their results. The rules of
// a tenant have an order: the first rule of phase call that matches and denies
// or asks decides, and one that allows ends the search. All rules of phase
// result that match apply, in order.
type PolicyRule struct {
	Name    string        `json:"name" maxLength:"64" doc:"Name of the rule, unique in the tenant."`
	Title   string        `json:"title,omitempty" maxLength:"200" doc:"What the rule is for, for other operators."`
	Phase   PolicyPhase   `json:"phase,omitempty" enum:"call,result" doc:"What the rule is about: the call before it is made (the default), or its result."`
	Kinds   []Kind        `json:"kinds,omitempty" doc:"Kinds of operations: tool (the default), resource, prompt, completion, subscription."`
	Target  PolicyTarget  `json:"target,omitzero" doc:"Which calls the rule is about. An empty list means all."`
	When    string        `json:"when,omitempty" maxLength:"8192" doc:"Condition in CEL. If it is empty, the rule matches every call of its target."`
	Verdict PolicyVerdict `json:"verdict" enum:"allow,deny,ask,redact,cut" doc:"What happens if the rule matches: allow, deny or ask for calls; deny, redact or cut for results."`
	Message string        `json:"message,omitempty" maxLength:"500" doc:"What the caller is told if the rule denies."`
	Redact  []string      `json:"redact,omitempty" doc:"With the verdict redact: detectors, or pattern:RE2. Detectors: secrets, email, phone, iban, card, jwt."`
	MaxSize int           `json:"max_size,omitempty" minimum:"0" doc:"With the verdict cut: the most bytes of a result's text."`
	Filter  *PolicyFilter `json:"filter,omitempty" doc:"A webhook that decides about the calls that match. Without it, the verdict applies."`
	Mode    PolicyMode    `json:"mode,omitempty" enum:"enforce,audit" doc:"enforce (the default), or audit, which only records what the rule would have done."`
}

// PolicyPhase is the moment at which a rule is evaluated.
type PolicyPhase string

// The phases.
const (
	PhaseCall   PolicyPhase = "call"
	PhaseResult PolicyPhase = "result"
)

// PolicyVerdict is what a rule does with a call or result that it matches.
type PolicyVerdict string

// The verdicts. Deny is for both phases, allow and ask for calls, redact and cut
// for results.
const (
	VerdictAllow  PolicyVerdict = "allow"  // ends the search; never widens a grant
	VerdictDeny   PolicyVerdict = "deny"   // refuses the call, or withholds the result
	VerdictAsk    PolicyVerdict = "ask"    // requires a person's approval
	VerdictRedact PolicyVerdict = "redact" // replaces the texts that the rule's detectors find
	VerdictCut    PolicyVerdict = "cut"    // shortens the result
)

// PolicyMode says whether a rule has an effect.
type PolicyMode string

// The modes.
const (
	ModeEnforce PolicyMode = "enforce"
	ModeAudit   PolicyMode = "audit" // the rule only records what it would have done
)

// PolicyTarget selects the calls that a rule is about, without an expression, so
// that a call evaluates only the rules that can apply. Every list that is not
// empty must have a pattern that matches. A * in a pattern stands for any text.
type PolicyTarget struct {
	Items   []string `json:"items,omitempty" doc:"server/item, with the item's name at the server or the URI of a resource: github/*, */delete_*, files/file:///tmp/*."`
	Agents  []string `json:"agents,omitempty" doc:"Names of agents; * is every agent. Users and services are not meant then."`
	Users   []string `json:"users,omitempty" doc:"Names of users, whether they call themselves or an agent or program calls for them."`
	Tenants []string `json:"tenants,omitempty" doc:"Tenants; only operators set it. Such a rule is evaluated before the tenants' own rules."`
}

// IsZero reports whether the target selects every call of the tenant.
func (t PolicyTarget) IsZero() bool {
	return len(t.Items)+len(t.Agents)+len(t.Users)+len(t.Tenants) == 0
}

// PolicyFilter is a webhook that decides about calls or results in place of a
// fixed verdict. The request is signed as Standard Webhooks describes.
type PolicyFilter struct {
	URL       string        `json:"url" format:"uri"`
	Secret    string        `json:"secret,omitempty" doc:"Reference to the signing secret: env:NAME, file:PATH or cmd:COMMAND."`
	Timeout   Duration      `json:"timeout,omitempty" doc:"How long to wait for an answer. The default is 2s."`
	OnFailure PolicyVerdict `json:"on_failure,omitempty" enum:"allow,deny" doc:"What applies if the filter does not answer: deny (the default) or allow."`
}

// PolicyRuleNamePattern matches the names of rules.
const PolicyRuleNamePattern = `^[a-z][a-z0-9-]{0,63}$`

// Limits of rules. They bound what a tenant can make each call cost.
const (
	MaxPolicyRules    = 500
	maxPolicyPatterns = 100
	maxPatternLength  = 512
	maxRedactPatterns = 32
)

// PolicyKinds returns the kinds of operations that rules can be about.
func PolicyKinds() []Kind {
	return []Kind{KindTool, KindResource, KindPrompt, KindCompletion, KindSubscription}
}

// WithDefaults returns the rule with the defaults of absent members.
func (r PolicyRule) WithDefaults() PolicyRule {
	if r.Phase == "" {
		r.Phase = PhaseCall
	}
	if len(r.Kinds) == 0 {
		r.Kinds = []Kind{KindTool}
	}
	if r.Mode == "" {
		r.Mode = ModeEnforce
	}
	return r
}

// IsOperators reports whether only operators may change the rule, because it is
// about the calls of several tenants.
func (r *PolicyRule) IsOperators() bool { return len(r.Target.Tenants) > 0 }

// Check returns an error that names the first invalid member, if there is one.
// Package policy checks the condition.
func (r *PolicyRule) Check() error {
	if ok, _ := regexp.MatchString(PolicyRuleNamePattern, r.Name); !ok {
		return Errorf(CodeInvalid, "%q is not a valid rule name; use a lower-case letter, then up to 63 lower-case letters, digits or hyphens", r.Name)
	}
	d := r.WithDefaults()
	verdicts := []PolicyVerdict{VerdictAllow, VerdictDeny, VerdictAsk}
	switch d.Phase {
	case PhaseCall:
	case PhaseResult:
		verdicts = []PolicyVerdict{VerdictDeny, VerdictRedact, VerdictCut}
	default:
		return Errorf(CodeInvalid, "the rule %q: unknown phase %q; use call or result", r.Name, string(r.Phase))
	}
	switch {
	case !slices.Contains(verdicts, d.Verdict):
		return Errorf(CodeInvalid, "the rule %q: a rule of phase %s cannot have the verdict %q; use %s", r.Name, d.Phase, string(r.Verdict), joinTexts(verdicts))
	case d.Mode != ModeEnforce && d.Mode != ModeAudit:
		return Errorf(CodeInvalid, "the rule %q: unknown mode %q; use enforce or audit", r.Name, string(r.Mode))
	case (d.Verdict == VerdictRedact) != (len(r.Redact) > 0):
		return Errorf(CodeInvalid, "the rule %q: redact lists what the verdict redact replaces; set both or none", r.Name)
	case len(r.Redact) > maxRedactPatterns:
		return Errorf(CodeInvalid, "the rule %q: redact has %d entries; at most %d are possible", r.Name, len(r.Redact), maxRedactPatterns)
	case (d.Verdict == VerdictCut) != (r.MaxSize > 0):
		return Errorf(CodeInvalid, "the rule %q: max_size is the size to which the verdict cut shortens a result; set both or none", r.Name)
	case utf8.RuneCountInString(r.Message) > 500:
		return Errorf(CodeInvalid, "the rule %q: message is longer than 500 characters", r.Name)
	}
	for _, k := range d.Kinds {
		if !slices.Contains(PolicyKinds(), k) {
			return Errorf(CodeInvalid, "the rule %q: unknown kind %q; use %s", r.Name, string(k), joinTexts(PolicyKinds()))
		}
	}
	if err := r.Target.check(r.Name); err != nil {
		return err
	}
	if f := r.Filter; f != nil {
		switch {
		case f.URL == "":
			return Errorf(CodeInvalid, "the rule %q: filter requires url", r.Name)
		case f.OnFailure != "" && f.OnFailure != VerdictAllow && f.OnFailure != VerdictDeny:
			return Errorf(CodeInvalid, "the rule %q: filter.on_failure must be allow or deny, not %q", r.Name, string(f.OnFailure))
		case f.Timeout < 0 || time.Duration(f.Timeout) > 30*time.Second:
			return Errorf(CodeInvalid, "the rule %q: filter.timeout must be at most 30s", r.Name)
		}
	}
	return nil
}

// check returns an error that names the first invalid pattern of a rule's
// target, if there is one.
func (t *PolicyTarget) check(rule string) error {
	lists := []struct {
		name string
		all  []string
	}{{"items", t.Items}, {"agents", t.Agents}, {"users", t.Users}, {"tenants", t.Tenants}}
	for _, list := range lists {
		if len(list.all) > maxPolicyPatterns {
			return Errorf(CodeInvalid, "the rule %q: target.%s has %d patterns; at most %d are possible", rule, list.name, len(list.all), maxPolicyPatterns)
		}
		for _, p := range list.all {
			if p == "" || len(p) > maxPatternLength || !utf8.ValidString(p) {
				return Errorf(CodeInvalid, "the rule %q: target.%s has a pattern that is empty or longer than %d bytes", rule, list.name, maxPatternLength)
			}
			if list.name == "items" && !strings.Contains(p, "/") {
				return Errorf(CodeInvalid, "the rule %q: %q in target.items is not a valid pattern; use server/item, for example %s/* for everything on a server", rule, p, p)
			}
		}
	}
	return nil
}

// joinTexts lists texts for an error message.
func joinTexts[T ~string](all []T) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return strings.Join(names, ", ")
}

// Hint is one of the annotations of a tool that say what the tool does.
type Hint uint8

// Values of a hint. An unknown hint is what neither the operator nor a believed
// server has stated.
const (
	HintUnknown Hint = iota
	HintFalse
	HintTrue
)

// ToolHints are the effective annotations of a tool: those that the operator
// set, and otherwise those of a server that the operator believes.
type ToolHints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld Hint
}

// CallFacts are what rules can read of a call besides its tool, arguments and
// result. They are recorded with the call, so that rules can be simulated on it.
type CallFacts struct {
	Groups  []string   // groups of the user, as the identity provider stated them
	Key     string     // id of the presented key; "" if there was none
	Address netip.Addr // of the client; invalid if the call came from no network
	Hints   ToolHints  // effective annotations of the tool
	Tags    []string   // tags that the operator gave the tool
	Digest  string     // digest of the tool's definition; "" if the call is of no tool
}

// PolicyHit is what a rule did with a call. It is recorded with the call.
type PolicyHit struct {
	Rule    string        `json:"rule"`
	Version string        `json:"version"` // digest of the rule's definition
	Verdict PolicyVerdict `json:"verdict"`
	Mode    PolicyMode    `json:"mode"`
	Value   string        `json:"value"`             // true, false or error
	Error   string        `json:"error,omitempty"`   // why the condition could not be evaluated
	Changed int           `json:"changed,omitempty"` // with redact and cut: how many texts were changed
	Decided bool          `json:"decided,omitempty"` // the rule decided the call

	// Operators is set for an operators' rule: other tenants see its name and verdict alone.
	Operators bool `json:"operators,omitempty"`
}

// Values of a hit whose rule matched, or could not be evaluated.
const (
	HitTrue  = "true"
	HitError = "error"
)

// LimitHits returns what readers of a tenant may see of hits: errors of operators' rules quote
// their conditions, which are for the default tenant.
func LimitHits(tenant TenantID, hits []PolicyHit) []PolicyHit {
	if tenant == DefaultTenant || !slices.ContainsFunc(hits, func(h PolicyHit) bool { return h.Operators && h.Error != "" }) {
		return hits
	}
	out := slices.Clone(hits)
	for i := range out {
		if out[i].Operators {
			out[i].Error = ""
		}
	}
	return out
}

// Matched reports whether the rule matched the call. A rule that cannot be evaluated
// matches, too, unless it allows: in the mode enforce it denies.
func (h *PolicyHit) Matched() bool {
	return h.Value == HitTrue || h.Value == HitError && h.Verdict != VerdictAllow
}

// EffectiveVerdict returns what the rule does with a call that it matches, or would do
// in the mode enforce.
func (h *PolicyHit) EffectiveVerdict() PolicyVerdict {
	if h.Value == HitError {
		return VerdictDeny
	}
	return h.Verdict
}
