package junctor

import "time"

// ToolFace is how a tool is shown, and whom it is for.
type ToolFace struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Roles       []Role `json:"roles,omitempty"`
	Category    string `json:"category,omitempty"`
}

// ToolSuggestion is what a model would change about a tool of a generated server,
// until a person has decided on it.
type ToolSuggestion struct {
	ID     string    `json:"id"`   // of this one: what is suggested later for the same tool has another
	Tool   string    `json:"tool"` // the server's own name
	Key    string    `json:"key"`  // of its operation: method and path
	To     ToolFace  `json:"to"`   // what is empty stays as it is
	Now    ToolFace  `json:"now"`  // as it is at this moment
	Model  string    `json:"model"`
	MadeAt time.Time `json:"made_at"`
}

// LeftOut is something that a model suggested and that was not taken.
type LeftOut struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}
