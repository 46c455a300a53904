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

// job is what lies in somebody's Redis: an event, and the call to make of it.
// Members that are not named here are let be.
type job struct {
	ID        loose           `json:"id"`
	TriggerID loose           `json:"trigger_id"`
	EventID   loose           `json:"event_id"`
	Action    string          `json:"action_type"`
	Config    *jobConfig      `json:"config"`
	EventData json.RawMessage `json:"event_data"`
}

// jobConfig is the call, in either of the forms that are in use: with endpoint and
// payload_template, or with server_url and arguments_template.
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

type jobEndpoint struct {
	URL       string            `json:"url"`
	Transport string            `json:"transport"`
	Server    string            `json:"server"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Headers   map[string]string `json:"headers"`
}

// loose is a text, or a number that is taken as one.
type loose string

// UnmarshalJSON reads either.
func (l *loose) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = loose(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*l = loose(n.String())
	return nil
}

// token is a credential that a job brings for the endpoint that it names.
type token struct {
	url, header string
	secret      seal.Secret
}

// taking is a job as it is taken: the event, the one delivery that it asks for,
// or none where triggers decide, and the credentials for it.
type taking struct {
	event  junctor.Event
	order  *junctor.Order
	tokens []token
}

// registration is how the endpoint of a job's agent is found where the job says
// that it is to be looked up.
const registration = "erc8004"

// readJob makes of a job's text what is to be done. An error says that nothing ever
// can be: it is invalid, and holds nothing of the job's credentials.
func readJob(src *junctor.Source, text []byte) (taking, error) {
	fault := func(format string, args ...any) (taking, error) {
		return taking{}, junctor.Errorf(junctor.CodeInvalid, "the job "+format, args...)
	}
	var j job
	if len(text) > junctor.MaxEventData {
		return fault("is longer than %d bytes", junctor.MaxEventData)
	}
	if err := json.Unmarshal(text, &j); err != nil || !object(text) {
		return fault("is no JSON object of a job")
	}
	if j.Action != "" && j.Action != "mcp" {
		return fault("asks for the action %q; this instance does mcp alone", clip(j.Action))
	}
	t := taking{event: junctor.Event{Tenant: src.Tenant, Source: src.ID, Type: "job", DedupeKey: string(j.ID), Data: j.EventData}}
	if t.event.DedupeKey == "" {
		sum := sha256.Sum256(text)
		t.event.DedupeKey = hex.EncodeToString(sum[:])
	}
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
		return fault("makes no event: %s", junctor.AsError(err).Message)
	}
	if j.Config == nil {
		return t, nil
	}
	if err := t.call(&j); err != nil {
		return fault("cannot be carried out: %s", junctor.AsError(err).Message)
	}
	return t, nil
}

// call makes the delivery that the job asks for. Its arguments are made later,
// when the event has its id.
func (t *taking) call(j *job) error {
	c := j.Config
	o := &junctor.Order{
		Trigger: string(j.TriggerID), Agent: t.event.Agent, EventType: t.event.Type, Source: t.event.Source, Tool: c.ToolName,
		Dedupe: "job/" + t.event.Source + "/" + t.event.DedupeKey, MaxAttempts: c.MaxAttempts, Timeout: time.Duration(c.TimeoutMS) * time.Millisecond,
	}
	if o.Trigger == "" {
		o.Trigger = "job"
	}
	o.Unordered = o.Agent == "" // else it waits in the agent's line, with the calls of triggers
	switch {
	case c.ToolName == "":
		return junctor.Errorf(junctor.CodeInvalid, "it names no tool_name")
	case c.TimeoutMS < 0 || time.Duration(c.TimeoutMS)*time.Millisecond > event.MaxTimeout:
		return junctor.Errorf(junctor.CodeInvalid, "timeout_ms is between 1 and %d", event.MaxTimeout.Milliseconds())
	case c.ResolveEndpoint:
		o.Target.Resolve = registration
	case c.Endpoint != nil:
		if err := t.endpoint(o, c.Endpoint); err != nil {
			return err
		}
	case c.ServerURL != "":
		o.Target.URL = c.ServerURL
	default:
		return junctor.Errorf(junctor.CodeInvalid, "it names no endpoint: resolve_endpoint, endpoint or server_url")
	}
	if c.AuthToken != "" && o.Target.URL != "" {
		t.tokens = append(t.tokens, token{o.Target.URL, "Authorization", seal.NewSecret(c.AuthToken)})
	}
	if o.Target.URL != "" {
		if err := junctor.CheckServerURL(o.Target.URL); err != nil {
			return err
		}
	}
	if len(t.tokens) > 0 && o.Agent == "" {
		return junctor.Errorf(junctor.CodeInvalid, "it brings a credential and names no agent, by agent_id, that it belongs to")
	}
	if c.IncludeFile {
		o.File = fileOf(&t.event, c.VerifyFile)
	}
	t.order = o
	_, err := t.template(c)
	return err
}

// endpoint reads where the tool is. A command comes from nobody but the operator.
func (t *taking) endpoint(o *junctor.Order, e *jobEndpoint) error {
	switch {
	case e.Command != "" || len(e.Args) > 0 || e.Transport == "stdio" && e.Server == "":
		return junctor.Errorf(junctor.CodeInvalid, "it wants a command to be run: register a server with that command, and name it as {\"server\": id}")
	case e.Server != "":
		o.Target.Server = e.Server
		return junctor.CheckServerID(e.Server)
	case e.Transport != "" && e.Transport != "http" && e.Transport != "sse":
		return junctor.Errorf(junctor.CodeInvalid, "it has the transport %q; use http or sse", clip(e.Transport))
	}
	o.Target.URL, o.Target.Transport = e.URL, junctor.Transport(e.Transport)
	for name, value := range e.Headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !slices.Contains([]string{"Authorization", "X-Agent-Token", "X-Api-Key"}, name) {
			return junctor.Errorf(junctor.CodeInvalid, "it wants the header %q; only Authorization, X-Agent-Token and X-API-Key can be set", clip(name))
		}
		if name == "Authorization" {
			value = strings.TrimPrefix(value, "Bearer ")
		}
		t.tokens = append(t.tokens, token{e.URL, name, seal.NewSecret(value)})
	}
	return nil
}

// template is the one that the job has, under either name; a text that holds it
// is read as well.
func (t *taking) template(c *jobConfig) (*event.Template, error) {
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

// fill makes the arguments, when the event has its id.
func (t *taking) fill(text []byte) error {
	if t.order == nil {
		return nil
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	template, err := t.template(j.Config)
	if err != nil {
		return err
	}
	t.order.Event = t.event.ID
	t.order.Arguments, err = template.Fill(&t.event)
	return err
}

// clip keeps a text from making a message of any length.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
