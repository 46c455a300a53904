package junctor

import "slices"

// HintOrigin is who stated a hint of a tool.
type HintOrigin string

// The origins of hints.
const (
	OriginUnknown  HintOrigin = "unknown"  // nobody whose word counts
	OriginOperator HintOrigin = "operator" // an override of the tool
	OriginServer   HintOrigin = "server"   // the annotations of a server that is believed
)

// EffectiveHint is a hint with its origin, as the admin API shows it.
type EffectiveHint struct {
	Value  *bool      `json:"value,omitempty" doc:"What counts; absent if it is unknown."`
	Origin HintOrigin `json:"origin" enum:"operator,server,unknown" doc:"Who stated it: operator (an override), server (its annotations are believed) or unknown."`
}

// EffectiveHints are the annotations of a tool that Junctor acts on.
type EffectiveHints struct {
	ReadOnly    EffectiveHint `json:"read_only"`
	Destructive EffectiveHint `json:"destructive"`
	Idempotent  EffectiveHint `json:"idempotent"`
	OpenWorld   EffectiveHint `json:"open_world"`
}

// HintOf returns the hint that an optional boolean states.
func HintOf(stated *bool) Hint {
	switch {
	case stated == nil:
		return HintUnknown
	case *stated:
		return HintTrue
	}
	return HintFalse
}

// Or returns the hint, or another one if it is unknown.
func (h Hint) Or(other Hint) Hint {
	if h == HintUnknown {
		return other
	}
	return h
}

// Or returns the hints; those that are unknown are taken from others.
func (h ToolHints) Or(others ToolHints) ToolHints {
	return ToolHints{
		ReadOnly: h.ReadOnly.Or(others.ReadOnly), Destructive: h.Destructive.Or(others.Destructive),
		Idempotent: h.Idempotent.Or(others.Idempotent), OpenWorld: h.OpenWorld.Or(others.OpenWorld),
	}
}

// Effective returns the hints with their origins. operator are those that an operator
// stated.
func (h ToolHints) Effective(operator ToolHints) EffectiveHints {
	one := func(h, operator Hint) EffectiveHint {
		switch {
		case h == HintUnknown:
			return EffectiveHint{Origin: OriginUnknown}
		case operator != HintUnknown:
			return EffectiveHint{Value: new(h == HintTrue), Origin: OriginOperator}
		}
		return EffectiveHint{Value: new(h == HintTrue), Origin: OriginServer}
	}
	return EffectiveHints{
		ReadOnly: one(h.ReadOnly, operator.ReadOnly), Destructive: one(h.Destructive, operator.Destructive),
		Idempotent: one(h.Idempotent, operator.Idempotent), OpenWorld: one(h.OpenWorld, operator.OpenWorld),
	}
}

// Hints returns the hints that an override states.
func (o *Override) Hints() ToolHints {
	return ToolHints{ReadOnly: HintOf(o.ReadOnly), Destructive: HintOf(o.Destructive), Idempotent: HintOf(o.Idempotent), OpenWorld: HintOf(o.OpenWorld)}
}

// IsZero reports whether the override changes nothing.
func (o Override) IsZero() bool {
	return !o.Hide && o.Name == "" && o.Description == "" && o.CallTimeout == 0 && o.CallTimeoutMax == 0 && !o.Vouches()
}

// Vouches reports whether the override states what the tool does. Only an admin or the
// operator can do so.
func (o *Override) Vouches() bool { return o.Hints() != (ToolHints{}) || len(o.Tags) > 0 }

// ChangedStatement returns the name of a field in which the override states something that
// former does not, or no longer states what made the tool look less harmless; "" if there
// is none. A statement that the tool is harmless may be taken back.
func (o *Override) ChangedStatement(former *Override) string {
	now, before := o.Hints(), former.Hints()
	for _, one := range []struct {
		name        string
		now, before Hint
		harmless    Hint
	}{
		{"read_only", now.ReadOnly, before.ReadOnly, HintTrue},
		{"destructive", now.Destructive, before.Destructive, HintFalse},
		{"idempotent", now.Idempotent, before.Idempotent, HintTrue},
		{"open_world", now.OpenWorld, before.OpenWorld, HintFalse},
	} {
		if one.now != one.before && (one.now != HintUnknown || one.before != one.harmless) {
			return one.name
		}
	}
	if !slices.Equal(o.Tags, former.Tags) {
		return "tags"
	}
	return ""
}

// Statement returns the name of the first field in which the override states what the
// tool does; "" if there is none.
func (o *Override) Statement() string {
	h := o.Hints()
	switch {
	case h.ReadOnly != HintUnknown:
		return "read_only"
	case h.Destructive != HintUnknown:
		return "destructive"
	case h.Idempotent != HintUnknown:
		return "idempotent"
	case h.OpenWorld != HintUnknown:
		return "open_world"
	case len(o.Tags) > 0:
		return "tags"
	}
	return ""
}
