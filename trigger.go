package junctor

import (
	"encoding/json"
	"time"
)

// Trigger is a rule that turns matching events into tool calls.
type Trigger struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name" file:"key"`
	Title     string    `json:"title,omitempty"`
	Match     Match     `json:"match"`
	Action    Action    `json:"action"`
	Disabled  bool      `json:"disabled,omitempty"`
	Declared  string    `json:"declared,omitempty" file:"no"` // the settings file that declares it, and the only place to change it
	Owner     string    `json:"owner,omitempty" file:"no"`    // Principal.ID of the creator
	CreatedAt time.Time `json:"created_at" file:"no"`
	UpdatedAt time.Time `json:"updated_at" file:"no"`
	UpdatedBy string    `json:"updated_by,omitempty" file:"no"` // Principal.ID of the last change; "" if unknown
}

// Match selects the events of a trigger: all set members must match. In source,
// type and agent, a star matches any text. A type also matches without the action
// of a message: issues selects issues.opened, if the data has the action opened.
type Match struct {
	Source   string      `json:"source,omitempty"`
	Type     string      `json:"type,omitempty"`
	Agent    string      `json:"agent,omitempty"`
	Tags     []string    `json:"tags,omitempty" nullable:"false"` // the event has all of these
	MinValue *float64    `json:"min_value,omitempty"`             // least numeric value of the event, with its decimals applied
	MaxValue *float64    `json:"max_value,omitempty"`
	Where    []Condition `json:"where,omitempty" nullable:"false"`
}

// Condition compares one member of an event with a value.
type Condition struct {
	Field string `json:"field"` // such as data.issue.state
	Op    string `json:"op"`
	Value JSON   `json:"value,omitempty"`
}

// JSON is any JSON value, kept byte for byte.
type JSON []byte

// MarshalJSON returns the value unchanged; null if it is empty.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON stores a copy of the value.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = append(JSON(nil), text...)
	return nil
}

// Action is the call that a trigger makes: to a tool of a registered server, of
// an agent's delivery endpoint, or of an endpoint that is resolved at delivery
// time.
type Action struct {
	Server   string          `json:"server,omitempty"`
	Agent    string          `json:"agent,omitempty"`   // agent whose delivery endpoint is called; EventAgent is the agent of the event
	Resolve  string          `json:"resolve,omitempty"` // name of the resolver of the endpoint
	Tool     string          `json:"tool"`              // name at the server
	Template json.RawMessage `json:"template,omitempty"`

	Batch       int  `json:"batch,omitempty"`         // most events per call, in the argument events; 0 and 1 send each event alone
	BatchWaitMS int  `json:"batch_wait_ms,omitempty"` // how long to wait for more events
	TimeoutMS   int  `json:"timeout_ms,omitempty"`
	Attempts    int  `json:"attempts,omitempty"` // most attempts; 0 is the whole schedule
	RetryErrors bool `json:"retry_errors,omitempty"`
	Sign        bool `json:"sign,omitempty"`  // sign as Standard Webhooks defines
	Raise       bool `json:"raise,omitempty"` // the tool's answer becomes an event

	// OrderKey is a text with placeholders, as in Template. Calls with the same
	// key are made one at a time, in the order of their events, across
	// triggers. "" orders by the agent of the event.
	OrderKey  string `json:"order_key,omitempty"`
	SkipAfter int    `json:"skip_after,omitempty"` // failures after which later calls with the same key overtake it; 0 is never

	IncludeFile  bool `json:"include_file_content,omitempty"`
	VerifyFile   bool `json:"verify_file_hash,omitempty"`
	FileAttempts int  `json:"file_attempts,omitempty"` // failed fetches of the file before the call is made without it; 0 is DefaultFileAttempts
}

// DefaultFileAttempts is how many attempts may fail to fetch the file of an
// event before the call is made without it. An attempt takes up to 10 s and
// delays later calls with the same key, so it must stay small.
const DefaultFileAttempts = 3

// EventAgent is the agent of an action that stands for the agent that the event
// concerns.
const EventAgent = "event"
