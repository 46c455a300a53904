package junctor

import (
	"encoding/json"
	"time"
)

// Tool is one tool as the admin API shows it.
type Tool struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`    // name at the server
	Exposed      string          `json:"exposed"` // server__name, as clients of /mcp see it
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`  // absent in lists without schemas
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // absent in lists without schemas
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Version      string          `json:"version,omitempty"`      // default version, if the tool has versions
	Versions     []string        `json:"versions,omitempty"`     // all of them, oldest first
	Roles        []Role          `json:"roles" nullable:"false"` // roles of the agents that see it; General is every role
	Category     string          `json:"category"`
	ChangedAt    time.Time       `json:"changed_at,omitzero"`  // last change by its server; set if one tool is requested
	Class        *Class          `json:"class,omitempty"`      // origin of roles and category; set if one tool is requested
	App          string          `json:"app,omitempty"`        // URI of its page at the server, if it is an App
	Visibility   []string        `json:"visibility,omitempty"` // model or app, if it is not for both
	Hints        EffectiveHints  `json:"hints"`                // annotations that Junctor acts on
	Tags         []string        `json:"tags,omitempty"`       // that the operator gave it
	Digest       string          `json:"digest"`               // SHA-256 of the definition, hex: it changes when the tool does
	Tokens       int             `json:"tokens"`               // estimated number of tokens that the definition uses in a model's context
}
