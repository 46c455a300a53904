package junctor

import "time"

// ToolFace is how a tool is presented: name, description and roles.
type ToolFace struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Roles       []Role `json:"roles,omitempty"`
	Category    string `json:"category,omitempty"`
}

// ToolSuggestion is a change to the presentation of a generated tool that a
// model proposed. It has no effect until a person accepts it.
type ToolSuggestion struct {
	ID     string    `json:"id"`   // unique per suggestion: a later one for the same tool has another id
	Tool   string    `json:"tool"` // name at the server
	Key    string    `json:"key"`  // key of the operation: method and path
	To     ToolFace  `json:"to"`   // proposed values; empty members stay unchanged
	Now    ToolFace  `json:"now"`  // current values
	Model  string    `json:"model"`
	MadeAt time.Time `json:"made_at"`
}

// LeftOut is a proposal of a model that was rejected, with the reason.
type LeftOut struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}
