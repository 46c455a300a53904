// Package tool makes tools out of the operations that apigen/doc has read: for
// each a name, schemas and annotations that every model takes, and beside them
// the plan that apigen/call sends its requests by.
package tool

import (
	"encoding/json"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Tool is one tool and how it is called. It is stored as JSON: the same document
// gives the same bytes.
type Tool struct {
	Key         string          `json:"key"` // of the operation: what it is known by when the document is read again
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`            // canonical schema
	Output      json.RawMessage `json:"output,omitempty"` // lenient; absent where there is none
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Deprecated  bool            `json:"deprecated,omitempty"`
	Inferred    bool            `json:"inferred,omitempty"`
	Incomplete  []doc.Code      `json:"incomplete,omitempty"` // why it cannot be called; such a tool is shown to people alone
	At          doc.Position    `json:"at"`
	Plan        call.Plan       `json:"plan"`
}

// Options of making tools.
type Options struct {
	Server string            // id of the server, which shares the length of shown names
	Names  map[string]string // by Key, those that the tools had before and keep
	Base   string            // URL of the API where somebody named one: operations without a server have it
}
