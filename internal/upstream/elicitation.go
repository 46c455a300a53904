package upstream

import (
	"net/netip"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// What a server asks people for is judged here, before anybody sees it: an
// address that a browser would run or read from the person's machine, and a form
// for a secret, which the specification forbids, are refused to the server.

// codeURLElicitation is the error with which a legacy server has a person visit
// addresses first; they stand in its data.
const codeURLElicitation = -32042

// refuseElicitation says why the params of elicitation/create are not passed on; ""
// is that they are.
func refuseElicitation(params []byte) string {
	mode, _ := wire.String(wire.Get(params, "mode"))
	if address := wire.Get(params, "url"); mode == "url" || address != nil {
		text, _ := wire.String(address)
		if !isVisitable(text) {
			return "the url is none that people are sent to: it has to be https, or http on this machine, without a user or password"
		}
	}
	message, _ := wire.String(wire.Get(params, "message"))
	return refuseForm(wire.Get(params, "requestedSchema"), message)
}

// isVisitable says whether a person may be sent to an address.
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

// checkServerRequest gives the answer to a request of a legacy server that is refused for
// what it asks people for; else it gives refused.
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

// checkInputRequests refuses the inputRequests of a modern server that ask people for what
// they must not be asked for.
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
			return junctor.Errorf(junctor.CodeUpstream, "server %s asks for input that is not passed on: %s", o.ID, why)
		}
	}
	return nil
}

// checkElicitationError is the error of a server, unless it sends people where they must not
// be sent.
func (o *Options) checkElicitationError(err error) error {
	e, own := err.(*wire.Error) //nolint:errorlint // it is as readAnswer gave it
	if !own || e.Code != codeURLElicitation {
		return err
	}
	if bad := o.checkElicitations(e.Data); bad != nil {
		return bad
	}
	return err
}

// checkTaskInputs refuses a task that asks people for what they must not be asked for, by
// its requests or by the error that it ended with.
func (o *Options) checkTaskInputs(task []byte) error {
	if err := o.checkInputRequests(wire.Get(task, "inputRequests")); err != nil {
		return err
	}
	failure := wire.Get(task, "error")
	if len(failure) == 0 || failure[0] != '{' {
		return nil
	}
	return o.checkElicitations(wire.Get(failure, "data")) // whatever its code: that can be written in many ways
}

// checkElicitations refuses the data of an error that sends people where they must not be
// sent.
func (o *Options) checkElicitations(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	for raw := range wire.Elements(wire.Get(data, "elicitations")) {
		if why := refuseElicitation(raw); why != "" {
			o.recordRefusedInput(why)
			return junctor.Errorf(junctor.CodeUpstream, "server %s asks for input that is not passed on: %s", o.ID, why)
		}
	}
	return nil
}

// recordRefusedInput records that people were not asked for something.
func (o *Options) recordRefusedInput(why string) {
	if o.limits.warnOnce(o.Logger, "a server's request for input was refused", "server", o.ID, "reason", why) && o.OnRefusedInput != nil {
		o.OnRefusedInput(why)
	}
}
