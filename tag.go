package junctor

import (
	"encoding/json"
	"time"
)

// ToolTag is the classification that a person gave a tool. It overrides the
// rules.
type ToolTag struct {
	Server   string    `json:"server"`
	Tool     string    `json:"tool"`            // name at the server
	Roles    []Role    `json:"roles,omitempty"` // empty: the rules decide
	Category string    `json:"category,omitempty"`
	By       string    `json:"tagged_by"` // Principal.ID
	At       time.Time `json:"tagged_at"`
}

// CheckCategory returns an error if name is not a valid category.
func CheckCategory(name string) error {
	if !nameFits(name, 40) {
		return Errorf(CodeInvalid, "%q is not a valid category; use 1 to 40 characters without control characters, slashes or leading and trailing spaces", name)
	}
	return nil
}

// Class is the roles and category of a tool, and the evidence for them.
type Class struct {
	Roles      []Role     `json:"roles" nullable:"false"`
	Category   string     `json:"category"`
	Confidence float64    `json:"confidence"` // confidence of the rules, from 0 to 1; 1 if a person decided
	Evidence   []Evidence `json:"evidence" nullable:"false"`
	Tag        *ToolTag   `json:"tag,omitempty"` // the tag, if a person set one
}

// Evidence is one reason for a role.
type Evidence struct {
	Role   Role   `json:"role"`
	Where  string `json:"where"` // tag, name, title, description, annotations or server
	Text   string `json:"text"`  // the matching text
	Weight int    `json:"weight"`
}

// ToolChange is a difference between two lists of a server's tools.
type ToolChange struct {
	ID           string          `json:"id"`
	Server       string          `json:"server"`
	Tool         string          `json:"tool"`             // name at the server
	What         []string        `json:"what,omitempty"`   // the members that differ; empty for an added or removed tool
	BeforeDigest string          `json:"before_digest"`    // "" if the tool was added
	AfterDigest  string          `json:"after_digest"`     // "" if the tool was removed
	Before       json.RawMessage `json:"before,omitempty"` // the former definition
	After        json.RawMessage `json:"after,omitempty"`
	SeenAt       time.Time       `json:"seen_at"`
}
