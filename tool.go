package junctor

import (
	"encoding/json"
	"time"
)

// Tool is one tool as people and the admin API see it: who owns it, what it is
// called where, and what it takes and gives.
type Tool struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`    // the server's own name
	Exposed      string          `json:"exposed"` // server__name, as clients of /mcp see it
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Version      string          `json:"version,omitempty"`      // the default version, where the tool has versions
	Versions     []string        `json:"versions,omitempty"`     // all of them, oldest first
	Roles        []Role          `json:"roles" nullable:"false"` // which agents it is offered to; General is every one
	Category     string          `json:"category"`
	ChangedAt    time.Time       `json:"changed_at,omitzero"`  // when its server last offered it otherwise, where one tool is shown
	Class        *Class          `json:"class,omitempty"`      // how roles and category are known, where one tool is shown
	App          string          `json:"app,omitempty"`        // the page that it brings, by the server's own URI
	Visibility   []string        `json:"visibility,omitempty"` // whom it is for, of model and app, where it is not for both
	Digest       string          `json:"digest"`               // SHA-256 of the definition, hex: it changes when the tool does
}
