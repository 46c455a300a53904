package junctor

import (
	"net/url"
	"regexp"
	"time"
)

// ModelKind is the protocol of a model.
type ModelKind string

// Kinds of models.
const (
	ModelAnthropic ModelKind = "anthropic" // the Messages API
	ModelOpenAI    ModelKind = "openai"    // chat completions, of any provider
	ModelA2A       ModelKind = "a2a"       // a remote agent in place of a model
)

// Model is a language model that agents can answer with, or a remote agent in
// its place.
type Model struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name"` // its id too
	Kind      ModelKind `json:"kind"`
	BaseURL   string    `json:"base_url,omitempty"` // "" is the URL of the provider
	Model     string    `json:"model"`              // name at the provider; "" with a2a
	HasKey    bool      `json:"has_key"`            // whether a key is sealed for it; keys are never shown
	Trusted   bool      `json:"-"`                  // an operator entered the URL, so loopback and private addresses are allowed
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // Principal.ID of the last change; "" if unknown
}

// ModelOwner returns the owner text of a model, under which its key is sealed.
func ModelOwner(name string) string { return "model:" + name }

// ModelKeySecret is the name of the sealed key of a model.
const ModelKeySecret = "key"

// ModelNamePattern matches the names of models.
const ModelNamePattern = `^[a-z][a-z0-9.-]{0,31}$`

// Check returns an error that names the first invalid member, if there is one.
func (m *Model) Check() error {
	if ok, _ := regexp.MatchString(ModelNamePattern, m.Name); !ok {
		return Errorf(CodeInvalid, "%q is not a valid model name; use a lower-case letter, then up to 31 lower-case letters, digits, dots or hyphens", m.Name)
	}
	switch {
	case m.Kind != ModelAnthropic && m.Kind != ModelOpenAI && m.Kind != ModelA2A:
		return Errorf(CodeInvalid, "unknown kind of model %q; use anthropic, openai for chat completions APIs, or a2a for a remote agent", string(m.Kind))
	case m.Kind == ModelA2A && m.Model != "":
		return Errorf(CodeInvalid, "the kind a2a allows no model; omit it, because base_url alone identifies a remote agent")
	case m.Kind == ModelA2A && m.BaseURL == "":
		return Errorf(CodeInvalid, "the kind a2a requires base_url, the URL of the remote agent or of its card")
	case m.Kind != ModelA2A && m.Model == "" || len(m.Model) > 200:
		return Errorf(CodeInvalid, "model is missing or too long; set it to the provider's name of the model (at most 200 characters)")
	case m.BaseURL == "":
		return nil
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Errorf(CodeInvalid, "base_url must be an http or https URL without credentials, query or fragment, such as http://127.0.0.1:11434/v1")
	}
	return nil
}

// Brain is what an agent answers with: a model, or rules without a model.
type Brain struct {
	Model        string      `json:"model,omitempty" yaml:"model,omitempty"`               // name of the model; "" with rules
	Instructions string      `json:"instructions,omitempty" yaml:"instructions,omitempty"` // system prompt
	Rules        string      `json:"rules,omitempty" yaml:"rules,omitempty"`               // YAML, see docs/guides/chat.md
	Limits       *TurnLimits `json:"limits,omitempty" yaml:"limits,omitempty"`
}

// Bounds of the members of a brain, in bytes.
const (
	MaxInstructions = 64 << 10
	MaxRules        = 256 << 10
)

// Check returns an error for an invalid member. It does not check that the
// model exists or that the rules parse.
func (b *Brain) Check() error {
	switch {
	case b.Model == "" && b.Rules == "":
		return Errorf(CodeInvalid, "a brain requires model or rules")
	case b.Model != "" && b.Rules != "":
		return Errorf(CodeInvalid, "a brain must not have both model and rules")
	case len(b.Instructions) > MaxInstructions:
		return Errorf(CodeInvalid, "instructions must not be longer than %d KiB", MaxInstructions>>10)
	case len(b.Rules) > MaxRules:
		return Errorf(CodeInvalid, "rules must not be longer than %d KiB", MaxRules>>10)
	}
	if b.Limits != nil {
		return b.Limits.Check()
	}
	return nil
}

// TurnLimits bounds one run of an agent. A zero member is the default; that of
// CallSeconds is no limit beside those of the server.
type TurnLimits struct {
	Turns       int `json:"turns,omitempty" yaml:"turns,omitempty" minimum:"0" doc:"Maximum number of requests to the model; 8 by default"`
	Calls       int `json:"calls,omitempty" yaml:"calls,omitempty" minimum:"0" doc:"Maximum number of calls; 16 by default"`
	CallSeconds int `json:"call_seconds,omitempty" yaml:"call_seconds,omitempty" minimum:"0" doc:"Maximum duration of one call in seconds, in addition to the limits of the tool, server and instance; by default only those apply"`
	Seconds     int `json:"seconds,omitempty" yaml:"seconds,omitempty" minimum:"0" doc:"Maximum total duration in seconds; 600 by default"`
	Tokens      int `json:"tokens,omitempty" yaml:"tokens,omitempty" minimum:"0" doc:"Maximum total number of tokens; 200000 by default"`
}

// Or returns the limits with zero members replaced by those of d.
func (l TurnLimits) Or(d TurnLimits) TurnLimits {
	pick := func(a *int, b int) {
		if *a <= 0 {
			*a = b
		}
	}
	pick(&l.Turns, d.Turns)
	pick(&l.Calls, d.Calls)
	pick(&l.CallSeconds, d.CallSeconds)
	pick(&l.Seconds, d.Seconds)
	pick(&l.Tokens, d.Tokens)
	return l
}

// DefaultTurnLimits returns the limits of agents that set none.
func DefaultTurnLimits() TurnLimits {
	return TurnLimits{Turns: 8, Calls: 16, Seconds: 600, Tokens: 200_000}
}

// MaxTurnLimits returns the highest limits that a brain may set.
func MaxTurnLimits() TurnLimits {
	return TurnLimits{Turns: 100, Calls: 1000, CallSeconds: 600, Seconds: 3600, Tokens: 10_000_000}
}

// Check returns an error if a limit is negative or above MaxTurnLimits.
func (l TurnLimits) Check() error {
	most := MaxTurnLimits()
	for _, x := range []struct {
		name      string
		have, max int
	}{
		{"turns", l.Turns, most.Turns},
		{"calls", l.Calls, most.Calls},
		{"call_seconds", l.CallSeconds, most.CallSeconds},
		{"seconds", l.Seconds, most.Seconds},
		{"tokens", l.Tokens, most.Tokens},
	} {
		if x.have < 0 || x.have > x.max {
			return Errorf(CodeInvalid, "limits: %s must be between 1 and %d, or omitted", x.name, x.max)
		}
	}
	return nil
}
