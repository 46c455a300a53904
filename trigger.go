package junctor

import (
	"encoding/json"
	"time"
)

// Trigger is a rule that turns an event into a call of a tool.
type Trigger struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name"`
	Title     string    `json:"title,omitempty"`
	Match     Match     `json:"match"`
	Action    Action    `json:"action"`
	Disabled  bool      `json:"disabled,omitempty"`
	Declared  string    `json:"declared,omitempty"` // the file that declares it, where alone it can be changed
	Owner     string    `json:"owner,omitempty"`    // who made it, as Principal.ID says
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}

// Match says which events a trigger is for: all that it names must hold. In
// source, type and agent a star stands for any text.
type Match struct {
	Source   string      `json:"source,omitempty"`
	Type     string      `json:"type,omitempty"`
	Agent    string      `json:"agent,omitempty"`
	Tags     []string    `json:"tags,omitempty" nullable:"false"` // the event has all of these
	MinValue *float64    `json:"min_value,omitempty"`             // what the event says something is worth, with its decimals
	MaxValue *float64    `json:"max_value,omitempty"`
	Where    []Condition `json:"where,omitempty" nullable:"false"`
}

// Condition compares one place of an event with a value.
type Condition struct {
	Field string `json:"field"` // such as data.issue.state
	Op    string `json:"op"`
	Value JSON   `json:"value,omitempty"`
}

// JSON is any value, as it was written.
type JSON []byte

// MarshalJSON gives it as it is.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps it as it is.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = append(JSON(nil), text...)
	return nil
}

// Action is the call that a trigger makes: of a tool on a registered server, on
// an agent's own endpoint, or on one that is found when it is needed.
type Action struct {
	Server   string          `json:"server,omitempty"`
	Agent    string          `json:"agent,omitempty"`   // whose endpoint; event is the agent that the event concerns
	Resolve  string          `json:"resolve,omitempty"` // how the endpoint is found
	Tool     string          `json:"tool"`              // in the server's own names
	Template json.RawMessage `json:"template,omitempty"`

	Batch       int  `json:"batch,omitempty"`         // up to so many events in one call, in the list events; 0 and 1 are one by one
	BatchWaitMS int  `json:"batch_wait_ms,omitempty"` // how long to wait for more
	TimeoutMS   int  `json:"timeout_ms,omitempty"`
	Attempts    int  `json:"attempts,omitempty"` // stop after so many; 0 is the whole schedule
	RetryErrors bool `json:"retry_errors,omitempty"`
	Sign        bool `json:"sign,omitempty"`  // as Standard Webhooks says
	Raise       bool `json:"raise,omitempty"` // the tool's answer becomes an event

	// OrderKey names the line that the calls wait in: a text with placeholders, as in
	// Template. Calls with the same key are made one at a time, in the order of their
	// events, whichever triggers they are of. "" is the line of the event's agent.
	OrderKey  string `json:"order_key,omitempty"`
	SkipAfter int    `json:"skip_after,omitempty"` // failed attempts after which the calls behind it in its line pass it; 0 is never

	IncludeFile  bool `json:"include_file_content,omitempty"`
	VerifyFile   bool `json:"verify_file_hash,omitempty"`
	FileAttempts int  `json:"file_attempts,omitempty"` // attempts to get the file before the call is made without it; 0 is DefaultFileAttempts
}

// DefaultFileAttempts is how often a file of an event is asked for before the call
// is made without it. An attempt takes 10 s at most, and those behind it wait.
const DefaultFileAttempts = 3

// EventAgent as an action's agent is the one that the event concerns.
const EventAgent = "event"
