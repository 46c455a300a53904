package junctor

import (
	"net/url"
	"regexp"
	"time"
)

// ModelKind is how a model is spoken to.
type ModelKind string

// Kinds of models.
const (
	ModelAnthropic ModelKind = "anthropic" // the Messages API
	ModelOpenAI    ModelKind = "openai"    // chat completions, by whomever serves them
	ModelA2A       ModelKind = "a2a"       // an agent elsewhere, which thinks for itself
)

// Model is a language model that agents may think with, and where it is.
type Model struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name"` // its id too
	Kind      ModelKind `json:"kind"`
	BaseURL   string    `json:"base_url,omitempty"` // "" is the maker's own
	Model     string    `json:"model"`              // what the other side calls it; "" with a2a
	HasKey    bool      `json:"has_key"`            // the key itself is sealed, and never shown
	Trusted   bool      `json:"-"`                  // the operator named its address
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}

// ModelOwner is how rows name a model as their owner.
func ModelOwner(name string) string { return "model:" + name }

// ModelKeySecret is the name of the secret that is a model's key.
const ModelKeySecret = "key"

// ModelNamePattern is what a model's name looks like.
const ModelNamePattern = `^[a-z][a-z0-9.-]{0,31}$`

// Check refuses a model that cannot be one, and says what to write instead.
func (m *Model) Check() error {
	if ok, _ := regexp.MatchString(ModelNamePattern, m.Name); !ok {
		return Errorf(CodeInvalid, "%q is not a model's name here: use a lower-case letter, then up to 31 lower-case letters, digits, dots or hyphens", m.Name)
	}
	switch {
	case m.Kind != ModelAnthropic && m.Kind != ModelOpenAI && m.Kind != ModelA2A:
		return Errorf(CodeInvalid, "%q is not a kind of model: use anthropic, openai for whatever speaks chat completions, or a2a for an agent elsewhere", string(m.Kind))
	case m.Kind == ModelA2A && m.Model != "":
		return Errorf(CodeInvalid, "an agent elsewhere is known by its address alone: leave model out")
	case m.Kind == ModelA2A && m.BaseURL == "":
		return Errorf(CodeInvalid, "say with base_url where the agent is: its address, or that of its card")
	case m.Kind != ModelA2A && m.Model == "" || len(m.Model) > 200:
		return Errorf(CodeInvalid, "say with model which one the other side is to use, by its name there (200 characters at most)")
	case m.BaseURL == "":
		return nil
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Errorf(CodeInvalid, "base_url is an http or https address without credentials, query and fragment, such as http://127.0.0.1:11434/v1")
	}
	return nil
}

// Brain is what an agent thinks with: a model, or rules that need none.
type Brain struct {
	Model        string      `json:"model,omitempty" yaml:"model,omitempty"`               // by its name; "" with rules
	Instructions string      `json:"instructions,omitempty" yaml:"instructions,omitempty"` // what the model is told before all else
	Rules        string      `json:"rules,omitempty" yaml:"rules,omitempty"`               // YAML, see docs/talking.md
	Limits       *TurnLimits `json:"limits,omitempty" yaml:"limits,omitempty"`
}

// Bounds of what a brain holds.
const (
	MaxInstructions = 64 << 10
	MaxRules        = 256 << 10
)

// Check refuses a brain that cannot think. Whether its model exists and its
// rules can be read is not judged here.
func (b *Brain) Check() error {
	switch {
	case b.Model == "" && b.Rules == "":
		return Errorf(CodeInvalid, "a brain has a model, by name, or rules")
	case b.Model != "" && b.Rules != "":
		return Errorf(CodeInvalid, "a brain has a model or rules, not both: rules answer without a model")
	case len(b.Instructions) > MaxInstructions:
		return Errorf(CodeInvalid, "instructions are longer than %d KiB", MaxInstructions>>10)
	case len(b.Rules) > MaxRules:
		return Errorf(CodeInvalid, "rules are longer than %d KiB", MaxRules>>10)
	}
	if b.Limits != nil {
		return b.Limits.Check()
	}
	return nil
}

// TurnLimits bound one run of an agent. What is zero is the default.
type TurnLimits struct {
	Turns       int `json:"turns,omitempty" yaml:"turns,omitempty" minimum:"0" doc:"How often the model may be asked; 8 unless it is given"`
	Calls       int `json:"calls,omitempty" yaml:"calls,omitempty" minimum:"0" doc:"How many tools it may call; 16 unless it is given"`
	CallSeconds int `json:"call_seconds,omitempty" yaml:"call_seconds,omitempty" minimum:"0" doc:"How long one call may take; 60 unless it is given"`
	Seconds     int `json:"seconds,omitempty" yaml:"seconds,omitempty" minimum:"0" doc:"How long all of it may take; 600 unless it is given"`
	Tokens      int `json:"tokens,omitempty" yaml:"tokens,omitempty" minimum:"0" doc:"How many tokens it may use in all; 200000 unless it is given"`
}

// Or fills what is zero from another.
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

// DefaultTurnLimits are those of agents that have none of their own.
func DefaultTurnLimits() TurnLimits {
	return TurnLimits{Turns: 8, Calls: 16, CallSeconds: 60, Seconds: 600, Tokens: 200_000}
}

// MaxTurnLimits are above what any run may be given.
func MaxTurnLimits() TurnLimits {
	return TurnLimits{Turns: 100, Calls: 1000, CallSeconds: 600, Seconds: 3600, Tokens: 10_000_000}
}

// Check refuses what no run may be given.
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
			return Errorf(CodeInvalid, "limits: %s is between 1 and %d, or left out", x.name, x.max)
		}
	}
	return nil
}
