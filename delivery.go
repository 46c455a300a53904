package junctor

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// Order is what a trigger hands over: which tool of whom is to be called, with
// what, and how hard to try. It holds no secret.
type Order struct {
	Event     string          `json:"event,omitempty"`      // the event's id, of several the first
	EventType string          `json:"event_type,omitempty"` // as the event says
	Source    string          `json:"source,omitempty"`
	Trigger   string          `json:"trigger,omitempty"` // by name
	Agent     string          `json:"agent,omitempty"`   // whom it concerns, and whose token is sent
	Target    Target          `json:"target"`
	Tool      string          `json:"tool"` // in the server's own names
	Arguments json.RawMessage `json:"arguments,omitempty"`

	Key       string `json:"key,omitempty"`    // of those with the same one is delivered at a time, in order; "" is AgentOrderKey
	Dedupe    string `json:"dedupe,omitempty"` // "" is event and trigger
	Unordered bool   `json:"unordered,omitempty"`

	MaxAttempts int           `json:"max_attempts,omitempty"` // 0 is the whole schedule
	SkipAfter   int           `json:"skip_after,omitempty"`   // failures after which the rest of the line passes it; 0 is never
	RetryErrors bool          `json:"retry_errors,omitempty"` // a tool that says that it failed is called again
	Timeout     time.Duration `json:"timeout,omitempty"`      // of an attempt; 0 is 30 s
	Sign        bool          `json:"sign,omitempty"`         // as Standard Webhooks says, with the endpoint's secret
	Reply       *Reply        `json:"reply,omitempty"`        // the tool's answer becomes an event
	File        *File         `json:"file,omitempty"`
	Depth       int           `json:"depth,omitempty"` // answers of tools that led to it, one from another
}

// AgentOrderKey is the order key of the deliveries that concern an agent, whichever
// triggers they are of.
func AgentOrderKey(agent string) string { return "agent:" + agent }

// NamedOrderKey is the order key that a trigger names. It is never that of an agent:
// whoever chooses the one cannot get into the line of the other.
func NamedOrderKey(name string) string { return "key:" + name }

// Target is where an order goes: exactly one of Server, URL, Agent and Resolve.
type Target struct {
	Server    string    `json:"server,omitempty"` // a registered server's id
	URL       string    `json:"url,omitempty"`    // an agent's own MCP endpoint
	Transport Transport `json:"transport,omitempty"`
	Agent     string    `json:"agent,omitempty"`   // the endpoint that is stored for this agent
	Resolve   string    `json:"resolve,omitempty"` // what is found when it is needed
}

// Lane names what shares fate with the order: its endpoint.
func (o *Order) Lane() string {
	switch t := o.Target; {
	case t.Server != "":
		return "server:" + t.Server
	case t.Agent != "":
		return "agent:" + t.Agent
	case t.Resolve != "":
		return "resolve:" + t.Resolve + ":" + o.Agent // each agent has its own
	}
	address, _, _ := strings.Cut(o.Target.URL, "?")
	return address
}

// Reply is the event that a tool's answer becomes.
type Reply struct {
	Source string `json:"source"`
	Type   string `json:"type"`
}

// File is a file that belongs to an event.
type File struct {
	URI     string `json:"uri"`
	Hash    string `json:"hash,omitempty"`
	Include bool   `json:"include,omitempty"` // its content goes along
	Verify  bool   `json:"verify,omitempty"`  // the content must have the hash
	// Attempts is how often the file is asked for before the order goes without it; 0 is
	// DefaultFileAttempts.
	Attempts int `json:"attempts,omitempty"`
}

// RaisedEvent is what a delivery makes of a tool's answer.
type RaisedEvent struct {
	Source, Type, Agent, Dedupe string
	Data                        json.RawMessage
	Cause                       string // the delivery's id
	Depth                       int
}

// Check refuses what is no order.
func (o *Order) Check() error {
	t, named := o.Target, 0
	for _, one := range []string{t.Server, t.URL, t.Agent, t.Resolve} {
		if one != "" {
			named++
		}
	}
	if named != 1 {
		return Errorf(CodeInvalid, "a delivery goes to one of server, url, agent and resolve")
	}
	if t.URL != "" {
		if _, err := Origin(t.URL); err != nil {
			return err
		}
	}
	if o.Tool == "" || len(o.Tool) > MaxEventName {
		return Errorf(CodeInvalid, "a delivery needs the name of a tool, of at most %d bytes", MaxEventName)
	}
	if len(o.Arguments) > 0 && (!json.Valid(o.Arguments) || o.Arguments[0] != '{') {
		return Errorf(CodeInvalid, "the arguments of a delivery are a JSON object")
	}
	if o.MaxAttempts < 0 || o.SkipAfter < 0 || o.File != nil && o.File.Attempts < 0 || o.Timeout < 0 || o.Timeout > MaxDeliveryTime {
		return Errorf(CodeInvalid, "attempts are not below 0, and the time of one is at most %s", MaxDeliveryTime)
	}
	return nil
}

// MaxDeliveryTime bounds what one attempt may take.
const MaxDeliveryTime = 5 * time.Minute

// Origin is the scheme, host and port of an http or https address, which has no
// user or password in it.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", Errorf(CodeInvalid, "an endpoint is an http or https address, without a user or password in it")
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

// AgentEndpoint is an agent's own MCP endpoint, and how its token is sent there.
// The token is sealed, and not part of it: it goes to this origin alone.
type AgentEndpoint struct {
	Tenant    TenantID  `json:"-"`
	Agent     string    `json:"agent"`
	Origin    string    `json:"origin"`
	URL       string    `json:"url"`
	Transport Transport `json:"transport"`
	Header    string    `json:"header"`              // the token's, or TokenHeaderAuto
	Reference string    `json:"reference,omitempty"` // where the token is read from whenever it is sent, such as file:/path; "" where it is sealed here
	Signed    bool      `json:"signed"`              // there is a secret to sign with
	Trusted   bool      `json:"-"`                   // the operator entered it: it may be on this machine
	Suspended string    `json:"suspended,omitempty"` // why the token is not sent until it is entered anew
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}

// TokenHeaderAuto as the header of a token is the one that the agent's registration
// names, and Authorization where there is no registration or it names none.
const TokenHeaderAuto = "auto"

// TokenHeaders lists the headers in which an agent's token may be sent: as a
// bearer token in the first, as it is in the others.
func TokenHeaders() []string { return []string{"Authorization", "X-Agent-Token", "X-API-Key"} }
