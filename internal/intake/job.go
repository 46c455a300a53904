package intake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/textproto"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// job is an entry of a Redis list or stream: an event, and optionally the call
// to make. Unknown members are ignored.
type job struct {
	ID        stringOrNumber  `json:"id"`
	TriggerID stringOrNumber  `json:"trigger_id"`
	EventID   stringOrNumber  `json:"event_id"`
	Action    string          `json:"action_type"`
	Config    *jobConfig      `json:"config"`
	EventData json.RawMessage `json:"event_data"`
}

// jobConfig is the call of a job, in either of the two forms in use: with
// endpoint and payload_template, or with server_url and arguments_template.
type jobConfig struct {
	ToolName string `json:"tool_name"`

	ResolveEndpoint bool            `json:"resolve_endpoint"`
	Endpoint        *jobEndpoint    `json:"endpoint"`
	PayloadTemplate json.RawMessage `json:"payload_template"`
	IncludeFile     bool            `json:"include_file_content"`
	VerifyFile      bool            `json:"verify_file_hash"`

	ServerURL         string          `json:"server_url"`
	ArgumentsTemplate json.RawMessage `json:"arguments_template"`
	TimeoutMS         int             `json:"timeout_ms"`
	AuthToken         string          `json:"auth_token"`

	MaxAttempts int `json:"max_attempts"`
}

// jobEndpoint is the place of the tool.
type jobEndpoint struct {
	URL       string            `json:"url"`
	Transport string            `json:"transport"`
	Server    string            `json:"server"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Headers   map[string]string `json:"headers"`
}

// stringOrNumber is a string; a JSON number is converted.
type stringOrNumber string

// UnmarshalJSON implements json.Unmarshaler.
func (l *stringOrNumber) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = stringOrNumber(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*l = stringOrNumber(n.String())
	return nil
}

// jobToken is a credential that a job has for its endpoint.
type jobToken struct {
	url, header string
	secret      seal.Secret
}

// parsedJob is a job with its event, its credentials, and the delivery that it
// requests. order is nil if triggers decide.
type parsedJob struct {
	event  junctor.Event
	order  *junctor.Order
	tokens []jobToken
}

// resolveByRegistration is the resolver of an agent's endpoint if the job asks
// for one.
const resolveByRegistration = "erc8004"

// parseJob parses the text of a job. An error is permanent: its code is
// invalid, and it contains none of the job's credentials.
func parseJob(src *junctor.Source, text []byte) (parsedJob, error) {
	fault := func(format string, args ...any) (parsedJob, error) {
		return parsedJob{}, junctor.Errorf(junctor.CodeInvalid, "the job "+format, args...)
	}
	var j job
	if len(text) > junctor.MaxEventData {
		return fault("is longer than %d bytes", junctor.MaxEventData)
	}
	if err := json.Unmarshal(text, &j); err != nil || !isObject(text) {
		return fault("is not a JSON object")
	}
	if j.Action != "" && j.Action != "mcp" {
		return fault("has the action %q; this instance supports only mcp", clipText(j.Action))
	}
	t := parsedJob{event: junctor.Event{Tenant: src.Tenant, Source: src.ID, Type: "job", DedupeKey: string(j.ID), Data: j.EventData}}
	// A job without an id is recognised by its text.
	if t.event.DedupeKey == "" {
		sum := sha256.Sum256(text)
		t.event.DedupeKey = hex.EncodeToString(sum[:])
	}
	// The fields that the source names take precedence over the usual ones.
	for _, one := range []struct {
		field string
		to    *string
	}{{"data.event_type", &t.event.Type}, {"data.agent_id", &t.event.Agent}, {src.TypeField, &t.event.Type}, {src.AgentField, &t.event.Agent}} {
		if one.field == "" {
			continue
		}
		if found, err := event.Text(&t.event, one.field); err == nil && found != "" {
			*one.to = found
		}
	}
	if err := t.event.Check(); err != nil {
		return fault("is not a valid event: %s", junctor.AsError(err).Message)
	}
	if j.Config == nil {
		return t, nil
	}
	if err := t.parseCall(&j); err != nil {
		return fault("cannot be executed: %s", junctor.AsError(err).Message)
	}
	return t, nil
}

// parseCall makes the delivery that the job requests. fillArguments adds the
// arguments later, when the event has its id.
func (t *parsedJob) parseCall(j *job) error {
	c := j.Config
	o := &junctor.Order{
		Trigger: string(j.TriggerID), Agent: t.event.Agent, EventType: t.event.Type, Source: t.event.Source, Tool: c.ToolName,
		Dedupe: "job/" + t.event.Source + "/" + t.event.DedupeKey, MaxAttempts: c.MaxAttempts, Timeout: time.Duration(c.TimeoutMS) * time.Millisecond,
	}
	if o.Trigger == "" {
		o.Trigger = "job"
	}
	o.Unordered = o.Agent == "" // otherwise the agent orders it, with the calls of triggers
	switch {
	case c.ToolName == "":
		return junctor.Errorf(junctor.CodeInvalid, "tool_name is missing")
	case c.TimeoutMS < 0 || time.Duration(c.TimeoutMS)*time.Millisecond > event.MaxTimeout:
		return junctor.Errorf(junctor.CodeInvalid, "timeout_ms must be between 1 and %d", event.MaxTimeout.Milliseconds())
	case c.ResolveEndpoint:
		o.Target.Resolve = resolveByRegistration
	case c.Endpoint != nil:
		if err := t.parseEndpoint(o, c.Endpoint); err != nil {
			return err
		}
	case c.ServerURL != "":
		o.Target.URL = c.ServerURL
	default:
		return junctor.Errorf(junctor.CodeInvalid, "the endpoint is missing: set resolve_endpoint, endpoint or server_url")
	}
	if c.AuthToken != "" && o.Target.URL != "" {
		t.tokens = append(t.tokens, jobToken{o.Target.URL, "Authorization", seal.NewSecret(c.AuthToken)})
	}
	if o.Target.URL != "" {
		if err := junctor.CheckServerURL(o.Target.URL); err != nil {
			return err
		}
	}
	if len(t.tokens) > 0 && o.Agent == "" {
		return junctor.Errorf(junctor.CodeInvalid, "it contains a credential, but agent_id, the owner of the credential, is missing")
	}
	if c.IncludeFile {
		o.File = fileOfEvent(&t.event, c.VerifyFile)
	}
	t.order = o
	_, err := t.parseTemplate(c)
	return err
}

// parseEndpoint reads the target of the call. Commands are refused: only the
// operator may configure a command, and a Redis may be writable by others.
func (t *parsedJob) parseEndpoint(o *junctor.Order, e *jobEndpoint) error {
	switch {
	case e.Command != "" || len(e.Args) > 0 || e.Transport == "stdio" && e.Server == "":
		return junctor.Errorf(junctor.CodeInvalid, "it wants a command to be run: register a server with that command, and name it as {\"server\": id}")
	case e.Server != "":
		o.Target.Server = e.Server
		return junctor.CheckServerID(e.Server)
	case e.Transport != "" && e.Transport != "http" && e.Transport != "sse":
		return junctor.Errorf(junctor.CodeInvalid, "unknown transport %q; use http or sse", clipText(e.Transport))
	}
	o.Target.URL, o.Target.Transport = e.URL, junctor.Transport(e.Transport)
	for name, value := range e.Headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !slices.Contains([]string{"Authorization", "X-Agent-Token", "X-Api-Key"}, name) {
			return junctor.Errorf(junctor.CodeInvalid, "the header %q is not allowed; only Authorization, X-Agent-Token and X-API-Key can be set", clipText(name))
		}
		if name == "Authorization" {
			value = strings.TrimPrefix(value, "Bearer ")
		}
		t.tokens = append(t.tokens, jobToken{e.URL, name, seal.NewSecret(value)})
	}
	return nil
}

// parseTemplate parses the template of the job, under either name. A template
// inside a JSON string is accepted too.
func (t *parsedJob) parseTemplate(c *jobConfig) (*event.Template, error) {
	source := c.PayloadTemplate
	if len(source) == 0 {
		source = c.ArgumentsTemplate
	}
	var text string
	if json.Unmarshal(source, &text) == nil {
		source = json.RawMessage(text)
	}
	if bytes.Equal(bytes.TrimSpace(source), []byte("null")) {
		source = nil
	}
	return event.ParseLenient(source)
}

// fillArguments makes the arguments of the delivery. The event must have its
// id.
func (t *parsedJob) fillArguments(text []byte) error {
	if t.order == nil {
		return nil
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	template, err := t.parseTemplate(j.Config)
	if err != nil {
		return err
	}
	t.order.Event = t.event.ID
	t.order.Arguments, err = template.Fill(&t.event)
	return err
}

// clipText bounds how much of a job's text an error message repeats.
func clipText(s string) string { return junctor.ShortenText(s, 80) }
