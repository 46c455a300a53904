package upstream

import (
	"net/netip"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Requests of servers to people are checked here before anybody sees them. Two kinds are
// refused: URLs that a browser would execute or read from the person's machine, and forms
// that ask for secrets, which the specification forbids.

// codeURLElicitation is the error code with which a legacy server asks the person to
// visit URLs first. They are in the error's data.
const codeURLElicitation = -32042

// refuseElicitation returns the reason why the params of elicitation/create are
// not passed on; "" if they are.
func refuseElicitation(params []byte) string {
	mode, _ := wire.String(wire.Get(params, "mode"))
	if address := wire.Get(params, "url"); mode == "url" || address != nil {
		text, _ := wire.String(address)
		if !isVisitable(text) {
			return "url must be an https URL, or an http URL on this machine, without a user or password"
		}
	}
	message, _ := wire.String(wire.Get(params, "message"))
	return refuseForm(wire.Get(params, "requestedSchema"), message)
}

// isVisitable reports whether a person may be sent to a URL: https, or http on this
// machine.
func isVisitable(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User != nil || u.Hostname() == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	switch u.Scheme {
	case "https":
		return true
	case "http":
		host := u.Hostname()
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
	}
	return false
}

// checkServerRequest checks an elicitation of a legacy server. It returns the error to
// answer with if it must not be passed on, otherwise refused.
func (o *Options) checkServerRequest(m *wire.Message, refused *wire.Error) *wire.Error {
	if m.Method != wire.MethodElicitationCreate {
		return refused
	}
	why := refuseElicitation(m.Params)
	if why == "" {
		return refused
	}
	o.recordRefusedInput(why)
	return &wire.Error{Code: wire.CodeInvalidParams, Message: why}
}

// checkInputRequests returns an error if the inputRequests of a modern server must not be
// passed on.
func (o *Options) checkInputRequests(requests []byte) error {
	if len(requests) == 0 || requests[0] != '{' {
		return nil
	}
	for _, request := range wire.Members(requests) {
		if method, _ := wire.String(wire.Get(request, "method")); method != wire.MethodElicitationCreate {
			continue
		}
		if why := refuseElicitation(wire.Get(request, "params")); why != "" {
			o.recordRefusedInput(why)
			return junctor.Errorf(junctor.CodeUpstream, "Junctor refused the request for input of server %s: %s", o.ID, why)
		}
	}
	return nil
}

// checkElicitationError returns the error of a server unchanged, unless it asks people to
// visit URLs that are not allowed.
func (o *Options) checkElicitationError(err error) error {
	e, own := err.(*wire.Error) //nolint:errorlint // parseResponse does not wrap it
	if !own || e.Code != codeURLElicitation {
		return err
	}
	if bad := o.checkElicitations(e.Data); bad != nil {
		return bad
	}
	return err
}

// checkTaskInputs returns an error if a task asks people for something that must not be
// passed on, in its requests or in the error it ended with.
func (o *Options) checkTaskInputs(task []byte) error {
	if err := o.checkInputRequests(wire.Get(task, "inputRequests")); err != nil {
		return err
	}
	failure := wire.Get(task, "error")
	if len(failure) == 0 || failure[0] != '{' {
		return nil
	}
	return o.checkElicitations(wire.Get(failure, "data")) // for all codes: a number can be written in many ways
}

// checkElicitations returns an error if the data of an error has elicitations that must
// not be passed on.
func (o *Options) checkElicitations(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	for raw := range wire.Elements(wire.Get(data, "elicitations")) {
		if why := refuseElicitation(raw); why != "" {
			o.recordRefusedInput(why)
			return junctor.Errorf(junctor.CodeUpstream, "Junctor refused the request for input of server %s: %s", o.ID, why)
		}
	}
	return nil
}

// recordRefusedInput logs that a request for input was refused, and calls OnRefusedInput.
func (o *Options) recordRefusedInput(why string) {
	if o.limits.warnOnce(o.Logger, "request of a server for input refused", "server", o.ID, "reason", why) && o.OnRefusedInput != nil {
		o.OnRefusedInput(why)
	}
}
