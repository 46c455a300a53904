package builtin

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
)

// clientCapabilities are those that a handler can build on. As a requirement, a
// member that is set is required.
type clientCapabilities struct {
	Elicitation *elicitationCapability `json:"elicitation,omitzero"`
	Sampling    *samplingCapability    `json:"sampling,omitzero"`
	Roots       *struct{}              `json:"roots,omitzero"`
}

type elicitationCapability struct {
	Form *struct{} `json:"form,omitzero"`
	URL  *struct{} `json:"url,omitzero"`
}

type samplingCapability struct {
	Tools *struct{} `json:"tools,omitzero"`
}

// HasElicitation says whether the client can ask its person to fill in a form.
func (c *Call) HasElicitation() bool { return c.capabilities().hasForms() }

// HasSampling says whether the client lets us ask its model.
func (c *Call) HasSampling() bool { return c.capabilities().Sampling != nil }

// HasRoots says whether the client tells which folders it has opened.
func (c *Call) HasRoots() bool { return c.capabilities().Roots != nil }

// capabilities are those that the client declared; what cannot be read counts
// as not declared.
func (c *Call) capabilities() clientCapabilities {
	var declared clientCapabilities
	if raw := c.req.Caller.Capabilities; raw != nil && json.Unmarshal(raw, &declared) != nil {
		return clientCapabilities{}
	}
	return declared
}

// hasForms: an empty elicitation capability means forms, as it did before URLs
// could be elicited.
func (d clientCapabilities) hasForms() bool {
	e := d.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// Capability is something that a client may be able to do for a server.
type Capability string

// Capabilities of clients.
const (
	Elicitation Capability = "elicitation"
	Sampling    Capability = "sampling"
	Roots       Capability = "roots"
)

// Require gives an error for the handler to return unless the client declared
// all these capabilities. Asking for input checks by itself.
func (c *Call) Require(capabilities ...Capability) error {
	declared := c.capabilities()
	var missing clientCapabilities
	for _, name := range capabilities {
		switch {
		case name == Elicitation && !declared.hasForms():
			missing.Elicitation = &elicitationCapability{}
		case name == Sampling && declared.Sampling == nil:
			missing.Sampling = &samplingCapability{}
		case name == Roots && declared.Roots == nil:
			missing.Roots = &struct{}{}
		}
	}
	return missing.err(c.Name())
}

// requireFor checks that the client declared what answering these needs.
func (c *Call) requireFor(requests []InputRequest) error {
	declared := c.capabilities()
	var missing clientCapabilities
	for _, r := range requests {
		var params struct {
			Mode  string         `json:"mode"`
			Tools jsontext.Value `json:"tools"`
		}
		if r.Params != nil {
			if err := json.Unmarshal(r.Params, &params); err != nil {
				return junctor.Errorf(junctor.CodeInternal, "%q asked its client something that is not JSON: %w", c.Name(), err)
			}
		}
		switch r.Method {
		case methodElicit:
			switch {
			case params.Mode != "url" && !declared.hasForms():
				missing.Elicitation = &elicitationCapability{}
			case params.Mode == "url" && (declared.Elicitation == nil || declared.Elicitation.URL == nil):
				missing.Elicitation = &elicitationCapability{URL: &struct{}{}}
			}
		case methodSample:
			switch {
			case params.Tools != nil && (declared.Sampling == nil || declared.Sampling.Tools == nil):
				missing.Sampling = &samplingCapability{Tools: &struct{}{}}
			case declared.Sampling == nil:
				missing.Sampling = &samplingCapability{}
			}
		case methodRoots:
			if declared.Roots == nil {
				missing.Roots = &struct{}{}
			}
		default:
			return junctor.Errorf(junctor.CodeInternal, "%q asked its client for %q, which no client answers", c.Name(), r.Method)
		}
	}
	return missing.err(c.Name())
}

// err says what is missing, if anything is.
func (d clientCapabilities) err(name string) error {
	if d == (clientCapabilities{}) {
		return nil
	}
	required, err := json.Marshal(d)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "required capabilities cannot be written: %w", err)
	}
	return &junctor.Error{
		Code:    junctor.CodeInvalid,
		Message: "\"" + name + "\" needs client capabilities that this client did not declare: " + string(required),
		Cause:   &capabilityError{required: required},
	}
}

// capabilityError is the cause of an invalid error where the client lacks
// what the call needs. Doors find it by its method.
type capabilityError struct{ required []byte }

func (m *capabilityError) Error() string {
	return "missing client capabilities: " + string(m.required)
}

// RequiredCapabilities is the clientCapabilities object that would do.
func (m *capabilityError) RequiredCapabilities() []byte { return m.required }
