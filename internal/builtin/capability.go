package builtin

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
)

// clientCapabilities are the capabilities that a handler can use. In a
// requirement, a member that is set is required.
type clientCapabilities struct {
	Elicitation *elicitationCapability `json:"elicitation,omitzero"`
	Sampling    *samplingCapability    `json:"sampling,omitzero"`
	Roots       *struct{}              `json:"roots,omitzero"`
}

// elicitationCapability is the capability to ask the user for input.
type elicitationCapability struct {
	Form *struct{} `json:"form,omitzero"`
	URL  *struct{} `json:"url,omitzero"`
}

// samplingCapability is the capability to ask the client's model.
type samplingCapability struct {
	Tools *struct{} `json:"tools,omitzero"`
}

// HasElicitation reports whether the client can show its user a form.
func (c *Call) HasElicitation() bool { return c.declaredCapabilities().hasForms() }

// HasSampling reports whether the client lets a server ask its model.
func (c *Call) HasSampling() bool { return c.declaredCapabilities().Sampling != nil }

// HasRoots reports whether the client can list the folders that it has opened.
func (c *Call) HasRoots() bool { return c.declaredCapabilities().Roots != nil }

// declaredCapabilities returns the capabilities that the client declared. A
// declaration that cannot be read counts as none.
func (c *Call) declaredCapabilities() clientCapabilities {
	var declared clientCapabilities
	if raw := c.req.Caller.Capabilities; raw != nil && json.Unmarshal(raw, &declared) != nil {
		return clientCapabilities{}
	}
	return declared
}

// hasForms reports whether forms are declared. An empty elicitation capability
// means forms, as it did before URLs could be elicited.
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

// Require returns an error for the handler to return, unless the client
// declared all these capabilities. A handler that asks for input need not call
// it: asking checks by itself.
func (c *Call) Require(capabilities ...Capability) error {
	declared := c.declaredCapabilities()
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
	return missing.missingError(c.Name())
}

// requireForRequests returns an error unless the client declared the
// capabilities that answering these requests needs. Without the check, a client
// would receive requests that it cannot answer.
func (c *Call) requireForRequests(requests []InputRequest) error {
	declared := c.declaredCapabilities()
	var missing clientCapabilities
	for _, r := range requests {
		var params struct {
			Mode  string         `json:"mode"`
			Tools jsontext.Value `json:"tools"`
		}
		if r.Params != nil {
			if err := json.Unmarshal(r.Params, &params); err != nil {
				return junctor.Errorf(junctor.CodeInternal, "the request of %q to its client cannot be encoded as JSON: %w", c.Name(), err)
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
			return junctor.Errorf(junctor.CodeInternal, "%q sent its client the request %q, which clients do not support", c.Name(), r.Method)
		}
	}
	return missing.missingError(c.Name())
}

// missingError returns the error for missing capabilities; nil if there are
// none.
func (d clientCapabilities) missingError(name string) error {
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

// capabilityError is the cause of an invalid error for a client that lacks a
// required capability. Endpoints find it by its method RequiredCapabilities,
// and add the capabilities to their answer.
type capabilityError struct{ required []byte }

// Error implements error.
func (m *capabilityError) Error() string {
	return "missing client capabilities: " + string(m.required)
}

// RequiredCapabilities returns the clientCapabilities object that would be
// sufficient.
func (m *capabilityError) RequiredCapabilities() []byte { return m.required }
