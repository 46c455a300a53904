package junctor

import (
	"encoding/json"
	"time"
)

// ToolTag is what people say a tool is for, in place of what the rules found.
type ToolTag struct {
	Server   string    `json:"server"`
	Tool     string    `json:"tool"`            // the server's own name
	Roles    []Role    `json:"roles,omitempty"` // none leaves them to the rules
	Category string    `json:"category,omitempty"`
	By       string    `json:"tagged_by"` // as Principal.ID says
	At       time.Time `json:"tagged_at"`
}

// CheckCategory refuses what cannot name a category.
func CheckCategory(name string) error {
	if !nameFits(name, 40) {
		return Errorf(CodeInvalid, "a category has 1 to 40 characters, no control characters, no slash and no space at its ends, not %q", name)
	}
	return nil
}

// Class is what a tool is for, and how that is known.
type Class struct {
	Roles      []Role     `json:"roles" nullable:"false"`
	Category   string     `json:"category"`
	Confidence float64    `json:"confidence"` // of the rules, from 0 to 1; 1 where people said so
	Evidence   []Evidence `json:"evidence" nullable:"false"`
	Tag        *ToolTag   `json:"tag,omitempty"` // what people said, where they did
}

// Evidence is one thing that speaks for a role.
type Evidence struct {
	Role   Role   `json:"role"`
	Where  string `json:"where"` // tag, name, title, description, annotations or server
	Text   string `json:"text"`  // what stands there
	Weight int    `json:"weight"`
}

// ToolChange is a tool that its server offers otherwise than before.
type ToolChange struct {
	ID           string          `json:"id"`
	Server       string          `json:"server"`
	Tool         string          `json:"tool"`             // the server's own name
	What         []string        `json:"what,omitempty"`   // the members that differ; none for a tool that is new or gone
	BeforeDigest string          `json:"before_digest"`    // "" for a tool that is new
	AfterDigest  string          `json:"after_digest"`     // "" for a tool that is gone
	Before       json.RawMessage `json:"before,omitempty"` // the definition, as it was offered
	After        json.RawMessage `json:"after,omitempty"`
	SeenAt       time.Time       `json:"seen_at"`
}
