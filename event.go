package junctor

import (
	"encoding/json"
	"regexp"
	"time"
)

// Event is something that happened at a source. It is stored before its sender
// gets a success answer, and never changes afterwards.
type Event struct {
	Tenant TenantID `json:"-"`
	ID     string   `json:"id"`
	Source string   `json:"source"` // a valid source id, schedule:NAME, agent:NAME, or the name that the sender gives
	Type   string   `json:"type"`   // type of the event, as the source names it
	// TypeUnsigned is set if the type comes from a header that the signature
	// does not cover: anybody who saw the message could send it again with
	// another type.
	TypeUnsigned bool            `json:"type_unsigned,omitempty"`
	Agent        string          `json:"agent,omitempty"`                   // the agent that the event concerns; events of one agent are delivered in order
	DedupeKey    string          `json:"dedupe_key"`                        // a second event of the source with the same key is ignored
	Data         json.RawMessage `json:"data,omitempty"`                    // payload
	ReceivedAt   time.Time       `json:"received_at"`                       // when it was stored
	Raised       int             `json:"raised"`                            // number of deliveries that it caused
	Faults       []string        `json:"faults,omitempty" nullable:"false"` // why matching triggers could not make a call
	Depth        int             `json:"depth,omitempty"`                   // length of the chain of answers that led to it; bounds loops
}

// Taken is the result of sending an event.
type Taken struct {
	ID         string   `json:"id" doc:"ID of the event; if it is a duplicate, the ID of the first event."`
	Duplicate  bool     `json:"duplicate,omitempty" doc:"Whether the event was accepted before; a duplicate causes no deliveries."`
	Deliveries []string `json:"deliveries" nullable:"false" doc:"IDs of the deliveries that the event causes. Deliveries that wait for more events have no ID yet."`
	Faults     []string `json:"faults,omitempty" nullable:"false" doc:"Why matching triggers could not make a call from the event."`
}

// Bounds of the members of an event, in bytes.
const (
	MaxEventName = 200
	MaxEventKey  = 256
	MaxEventData = 1 << 20
)

// Check returns an error if a member is missing or out of bounds.
func (e *Event) Check() error {
	for _, one := range []struct{ name, text string }{{"source", e.Source}, {"type", e.Type}, {"agent", e.Agent}} {
		if one.text == "" && one.name == "agent" {
			continue
		}
		if !nameShort(one.text, MaxEventName) {
			return Errorf(CodeInvalid, "the %s of an event must have 1 to %d characters and no control characters", one.name, MaxEventName)
		}
	}
	if len(e.DedupeKey) > MaxEventKey {
		return Errorf(CodeInvalid, "the dedupe_key of an event must have at most %d bytes", MaxEventKey)
	}
	if len(e.Data) > MaxEventData {
		return Errorf(CodeTooLarge, "the data of an event must have at most %d bytes", MaxEventData)
	}
	if len(e.Data) > 0 && !json.Valid(e.Data) {
		return Errorf(CodeInvalid, "the data of an event must be JSON")
	}
	return nil
}

// SourceStyle is how the messages of a source are authenticated.
type SourceStyle string

// The styles. Messages of the last two are not sent to Junctor: it reads them
// from Redis.
const (
	StyleStandard SourceStyle = "standard" // Standard Webhooks
	StyleGitHub   SourceStyle = "github"
	StyleStripe   SourceStyle = "stripe"
	StyleHMAC     SourceStyle = "hmac"         // HMAC-SHA256 of the body in a header
	StyleRedis    SourceStyle = "redis"        // jobs of a list in Redis
	StyleStream   SourceStyle = "redis-stream" // the same of a stream
)

// SourceStyles lists all styles.
func SourceStyles() []SourceStyle {
	return []SourceStyle{StyleStandard, StyleGitHub, StyleStripe, StyleHMAC, StyleRedis, StyleStream}
}

// Source is where events come from: senders that post to its path, or a Redis
// that Junctor reads. Its secret, or the address of the Redis, is sealed apart
// from it.
type Source struct {
	Tenant     TenantID    `json:"-"`
	ID         string      `json:"id" file:"key"`
	Path       string      `json:"path,omitempty" file:"no"` // URL path for its messages: /hooks/{id}, or /hooks/{tenant}/{id} outside the default tenant
	Style      SourceStyle `json:"style" enum:"standard,github,stripe,hmac,redis,redis-stream"`
	Title      string      `json:"title,omitempty"`
	Header     string      `json:"header,omitempty"`      // with style hmac: header of the signature
	TypeField  string      `json:"type_field,omitempty"`  // member with the event's type, such as data.kind; by default the style decides
	AgentField string      `json:"agent_field,omitempty"` // member with the agent that an event concerns
	Key        string      `json:"key,omitempty"`         // with the Redis styles: name of the list or stream
	Disabled   bool        `json:"disabled,omitempty"`
	Declared   string      `json:"declared,omitempty" file:"no"` // the settings file that declares it, and the only place to change it
	CreatedAt  time.Time   `json:"created_at" file:"no"`
	UpdatedAt  time.Time   `json:"updated_at" file:"no"`
	UpdatedBy  string      `json:"updated_by,omitempty" file:"no"` // Principal.ID of the last change; "" if unknown
}

// Pulled reports whether Junctor reads the source's messages itself.
func (s *Source) Pulled() bool { return s.Style == StyleRedis || s.Style == StyleStream }

// CheckSourceID returns an error that explains the allowed form if id is not
// valid.
func CheckSourceID(id string) error { return checkEventName("a valid source id", id) }

// CheckTriggerName returns an error that explains the allowed form if name is
// not valid.
func CheckTriggerName(name string) error { return checkEventName("a trigger's name", name) }

// CheckScheduleName returns an error that explains the allowed form if name is
// not valid.
func CheckScheduleName(name string) error { return checkEventName("a valid schedule name", name) }

func checkEventName(what, name string) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,62}$`, name); !ok {
		return Errorf(CodeInvalid, "%q is not %s; use a lower-case letter, then up to 62 lower-case letters, digits or hyphens", name, what)
	}
	return nil
}

// MetaDelivery is the member of _meta that identifies a delivery to the called
// tool: an object with the delivery's id, which is the same in every attempt,
// the event's id, type and source, the trigger, the agent, and the number of
// the attempt.
const MetaDelivery = "junctor/delivery"

// SourceOwner returns the owner under which the secrets of a source are sealed.
func SourceOwner(id string) string { return "source:" + id }

// Schedule makes events at times given by a cron expression.
type Schedule struct {
	Tenant    TenantID        `json:"-"`
	Name      string          `json:"name" file:"key"`
	Cron      string          `json:"cron"`               // minute, hour, day, month, weekday
	Timezone  string          `json:"timezone,omitempty"` // IANA time zone; "" is UTC
	Type      string          `json:"type"`               // type of the events
	Agent     string          `json:"agent,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Disabled  bool            `json:"disabled,omitempty"`
	Declared  string          `json:"declared,omitempty" file:"no"`
	NextAt    time.Time       `json:"next_at,omitzero" file:"no"`
	LastAt    time.Time       `json:"last_at,omitzero" file:"no"`
	CreatedAt time.Time       `json:"created_at" file:"no"`
	UpdatedAt time.Time       `json:"updated_at" file:"no"`
	UpdatedBy string          `json:"updated_by,omitempty" file:"no"` // Principal.ID of the last change; "" if unknown
}
