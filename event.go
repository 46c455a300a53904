package junctor

import (
	"encoding/json"
	"regexp"
	"time"
)

// Event is something that happened. It is stored before its sender is told that
// it was taken, and never changes.
type Event struct {
	Tenant TenantID `json:"-"`
	ID     string   `json:"id"`
	Source string   `json:"source"` // where it came from: a source's id, schedule:NAME, agent:NAME, or what the sender says
	Type   string   `json:"type"`   // what happened, in the source's words
	// TypeUnsigned says that the type is of a header that the sender's signature does
	// not cover: whoever saw the message could send it under another type.
	TypeUnsigned bool            `json:"type_unsigned,omitempty"`
	Agent        string          `json:"agent,omitempty"`                   // whom it concerns: the order of one agent's events is kept
	DedupeKey    string          `json:"dedupe_key"`                        // of a source's events, one is taken with the same key
	Data         json.RawMessage `json:"data,omitempty"`                    // what the source says
	ReceivedAt   time.Time       `json:"received_at"`                       // when it was taken
	Raised       int             `json:"raised"`                            // how many deliveries it came to when it was taken
	Faults       []string        `json:"faults,omitempty" nullable:"false"` // why triggers that are for it could make no call of it
	Depth        int             `json:"depth,omitempty"`                   // how many answers of tools led to it, one from another
}

// Taken is what became of an event that was sent.
type Taken struct {
	ID         string   `json:"id" doc:"The event's id; where it was sent before, that of the first."`
	Duplicate  bool     `json:"duplicate,omitempty" doc:"It had been taken before; nothing was done again."`
	Deliveries []string `json:"deliveries" nullable:"false" doc:"The calls that it leads to, by id. Those that wait for more events have none yet."`
	Faults     []string `json:"faults,omitempty" nullable:"false" doc:"Why triggers that are for it could make no call of it."`
}

// The lengths that the parts of an event may have.
const (
	MaxEventName = 200
	MaxEventKey  = 256
	MaxEventData = 1 << 20
)

// Check refuses what is no event.
func (e *Event) Check() error {
	for _, one := range []struct{ name, text string }{{"source", e.Source}, {"type", e.Type}, {"agent", e.Agent}} {
		if one.text == "" && one.name == "agent" {
			continue
		}
		if !nameShort(one.text, MaxEventName) {
			return Errorf(CodeInvalid, "the %s of an event has 1 to %d characters, none of them a control character", one.name, MaxEventName)
		}
	}
	if len(e.DedupeKey) > MaxEventKey {
		return Errorf(CodeInvalid, "the dedupe_key of an event has at most %d bytes", MaxEventKey)
	}
	if len(e.Data) > MaxEventData {
		return Errorf(CodeTooLarge, "the data of an event has at most %d bytes", MaxEventData)
	}
	if len(e.Data) > 0 && !json.Valid(e.Data) {
		return Errorf(CodeInvalid, "the data of an event must be JSON")
	}
	return nil
}

// SourceStyle is how the messages of a source are known to be its.
type SourceStyle string

// The styles. The last two are no doors: this instance goes and takes.
const (
	StyleStandard SourceStyle = "standard" // Standard Webhooks
	StyleGitHub   SourceStyle = "github"
	StyleStripe   SourceStyle = "stripe"
	StyleHMAC     SourceStyle = "hmac"         // HMAC-SHA256 of the body in a header
	StyleRedis    SourceStyle = "redis"        // jobs of a list in Redis
	StyleStream   SourceStyle = "redis-stream" // the same of a stream
)

// SourceStyles lists them.
func SourceStyles() []SourceStyle {
	return []SourceStyle{StyleStandard, StyleGitHub, StyleStripe, StyleHMAC, StyleRedis, StyleStream}
}

// Source is where events come from: those who post to its path, or a Redis that
// is read. What it is known by (a secret, or the address of the Redis) is sealed,
// and not part of it.
type Source struct {
	Tenant     TenantID    `json:"-"`
	ID         string      `json:"id"`
	Path       string      `json:"path,omitempty"` // where its messages are posted: /hooks/{id}, with the tenant before the id for other tenants than the default one
	Style      SourceStyle `json:"style"`
	Title      string      `json:"title,omitempty"`
	Header     string      `json:"header,omitempty"`      // with the style hmac: where the signature is
	TypeField  string      `json:"type_field,omitempty"`  // where an event's type is, such as data.kind; the style's own place otherwise
	AgentField string      `json:"agent_field,omitempty"` // where the agent is that an event concerns
	Key        string      `json:"key,omitempty"`         // with the styles redis: the name of the list or stream
	Disabled   bool        `json:"disabled,omitempty"`
	Declared   string      `json:"declared,omitempty"` // the file that declares it, where alone it can be changed
	CreatedAt  time.Time   `json:"created_at"`
	UpdatedAt  time.Time   `json:"updated_at"`
	UpdatedBy  string      `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}

// Pulled says that this instance takes the source's events itself.
func (s *Source) Pulled() bool { return s.Style == StyleRedis || s.Style == StyleStream }

// CheckSourceID refuses what is not a source's id, and says what one is.
func CheckSourceID(id string) error { return checkEventName("a source's id", id) }

// CheckTriggerName and CheckScheduleName do for those.
func CheckTriggerName(name string) error { return checkEventName("a trigger's name", name) }

// CheckScheduleName refuses what is not a schedule's name.
func CheckScheduleName(name string) error { return checkEventName("a schedule's name", name) }

func checkEventName(what, name string) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,62}$`, name); !ok {
		return Errorf(CodeInvalid, "%q is not %s: use a lower-case letter, then up to 62 lower-case letters, digits or hyphens", name, what)
	}
	return nil
}

// MetaDelivery is what a call that delivers an event says of itself in its _meta:
// an object with the delivery's id, the same in every attempt, the event's id,
// type and source, the trigger, the agent, and the number of the attempt.
const MetaDelivery = "junctor/delivery"

// SourceOwner is how the secrets of a source name their owner.
func SourceOwner(id string) string { return "source:" + id }

// Schedule makes events at times that are known before.
type Schedule struct {
	Tenant    TenantID        `json:"-"`
	Name      string          `json:"name"`
	Cron      string          `json:"cron"`               // minute, hour, day, month, weekday
	Timezone  string          `json:"timezone,omitempty"` // UTC where it is not said
	Type      string          `json:"type"`               // of the events
	Agent     string          `json:"agent,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Disabled  bool            `json:"disabled,omitempty"`
	Declared  string          `json:"declared,omitempty"`
	NextAt    time.Time       `json:"next_at,omitzero"`
	LastAt    time.Time       `json:"last_at,omitzero"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	UpdatedBy string          `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}
