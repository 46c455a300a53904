package junctor

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// Order is the call that a trigger requests: target, tool, arguments and how to
// retry. It contains no secret and is stored as the body of a job.
type Order struct {
	Event     string          `json:"event,omitempty"`      // id of the event; for a batch, of its first event
	EventType string          `json:"event_type,omitempty"` // type of the event
	Source    string          `json:"source,omitempty"`
	Trigger   string          `json:"trigger,omitempty"` // by name
	Agent     string          `json:"agent,omitempty"`   // the agent that the event is about, and whose token is sent
	Target    Target          `json:"target"`
	Tool      string          `json:"tool"` // name at the server
	Arguments json.RawMessage `json:"arguments,omitempty"`

	Key       string `json:"key,omitempty"`    // orders with the same key are delivered one at a time, in order; "" is AgentOrderKey
	Dedupe    string `json:"dedupe,omitempty"` // "" is event and trigger
	Unordered bool   `json:"unordered,omitempty"`

	MaxAttempts int           `json:"max_attempts,omitempty"` // 0 is the whole schedule
	SkipAfter   int           `json:"skip_after,omitempty"`   // failures after which later orders with the same key overtake it; 0 is never
	RetryErrors bool          `json:"retry_errors,omitempty"` // retry if the tool ran and returned an error
	Timeout     time.Duration `json:"timeout,omitempty"`      // of an attempt; 0 is 30 s
	Sign        bool          `json:"sign,omitempty"`         // sign as Standard Webhooks defines, with the endpoint's secret
	Reply       *Reply        `json:"reply,omitempty"`        // the tool's answer becomes an event
	File        *File         `json:"file,omitempty"`
	Depth       int           `json:"depth,omitempty"` // length of the chain of answers that led to it; bounds loops
}

// AgentOrderKey returns the order key of all deliveries that concern an agent,
// across triggers.
func AgentOrderKey(agent string) string { return "agent:" + agent }

// NamedOrderKey returns the order key for a name that a trigger sets. It never
// equals an AgentOrderKey, so nobody can enter another agent's queue by
// choosing a name.
func NamedOrderKey(name string) string { return "key:" + name }

// Target is where an order goes. Exactly one of Server, URL, Agent and Resolve
// is set.
type Target struct {
	Server    string    `json:"server,omitempty"` // a registered server's id
	URL       string    `json:"url,omitempty"`    // an agent's own MCP endpoint
	Transport Transport `json:"transport,omitempty"`
	Agent     string    `json:"agent,omitempty"`   // use the stored delivery endpoint of this agent
	Resolve   string    `json:"resolve,omitempty"` // name of the resolver that looks up the endpoint at delivery time
}

// Lane returns the name of the order's endpoint. Orders with the same lane
// share a breaker and a concurrency limit.
func (o *Order) Lane() string {
	switch t := o.Target; {
	case t.Server != "":
		return "server:" + t.Server
	case t.Agent != "":
		return "agent:" + t.Agent
	case t.Resolve != "":
		return "resolve:" + t.Resolve + ":" + o.Agent // one lane per agent
	}
	address, _, _ := strings.Cut(o.Target.URL, "?")
	return address
}

// Reply is the event that a tool's answer becomes.
type Reply struct {
	Source string `json:"source"`
	Type   string `json:"type"`
}

// File is a file that an event refers to.
type File struct {
	URI     string `json:"uri"`
	Hash    string `json:"hash,omitempty"`
	Include bool   `json:"include,omitempty"` // send the content with the call
	Verify  bool   `json:"verify,omitempty"`  // the content must have the hash
	// Attempts is how many attempts may fail to fetch the file before the call
	// is made without it; 0 is DefaultFileAttempts.
	Attempts int `json:"attempts,omitempty"`
}

// RaisedEvent is the event that the worker makes from a tool's answer.
type RaisedEvent struct {
	Source, Type, Agent, Dedupe string
	Data                        json.RawMessage
	Cause                       string // the delivery's id
	Depth                       int
}

// Check returns an error if the order cannot be delivered as it is.
func (o *Order) Check() error {
	t, named := o.Target, 0
	for _, one := range []string{t.Server, t.URL, t.Agent, t.Resolve} {
		if one != "" {
			named++
		}
	}
	if named != 1 {
		return Errorf(CodeInvalid, "a delivery requires exactly one of server, url, agent and resolve")
	}
	if t.URL != "" {
		if _, err := Origin(t.URL); err != nil {
			return err
		}
	}
	if o.Tool == "" || len(o.Tool) > MaxEventName {
		return Errorf(CodeInvalid, "a delivery requires tool, a name of at most %d bytes", MaxEventName)
	}
	if len(o.Arguments) > 0 && (!json.Valid(o.Arguments) || o.Arguments[0] != '{') {
		return Errorf(CodeInvalid, "the arguments of a delivery must be a JSON object")
	}
	if o.MaxAttempts < 0 || o.SkipAfter < 0 || o.File != nil && o.File.Attempts < 0 || o.Timeout < 0 || o.Timeout > MaxDeliveryTime {
		return Errorf(CodeInvalid, "attempts and delays of a delivery must not be negative, and the timeout must be at most %s", MaxDeliveryTime)
	}
	return nil
}

// MaxDeliveryTime bounds the duration of one attempt.
const MaxDeliveryTime = 5 * time.Minute

// Origin returns the scheme, host and port of an http or https URL without user
// information. The default port is written out, so that origins compare as
// texts.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", Errorf(CodeInvalid, "the URL of an endpoint must be an http or https URL without a user or password")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host + ":" + port, nil
}

// AgentEndpoint is the stored delivery endpoint of an agent, and how its token
// is sent. The token is sealed apart from it and only ever sent to this origin.
type AgentEndpoint struct {
	Tenant    TenantID  `json:"-"`
	Agent     string    `json:"agent"`
	Origin    string    `json:"origin"`
	URL       string    `json:"url"`
	Transport Transport `json:"transport"`
	Header    string    `json:"header"`              // header of the token, or TokenHeaderAuto
	Reference string    `json:"reference,omitempty"` // where the token is read before each use, such as file:/path; "" if the token is sealed
	Signed    bool      `json:"signed"`              // a signing secret is stored
	Trusted   bool      `json:"-"`                   // an operator entered it, so loopback and private addresses are allowed
	Suspended string    `json:"suspended,omitempty"` // why the token is not sent until it is entered again
	// Problem is why the reference cannot be read now. It is not stored.
	Problem   string    `json:"problem,omitempty" doc:"Why the reference of the token cannot be read. Absent if it can."`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // Principal.ID of the last change; "" if unknown
}

// TokenHeaderAuto sends the token in the header that the agent's registration
// names, or in Authorization if it names none.
const TokenHeaderAuto = "auto"

// TokenHeaders lists the headers in which an agent's token may be sent.
// Authorization carries it as a bearer token; the others carry it unchanged.
func TokenHeaders() []string { return []string{"Authorization", "X-Agent-Token", "X-API-Key"} }
