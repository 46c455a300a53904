package upstream

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// What a server asks people for is judged here, before anybody sees it: an
// address that a browser would run or read from the person's machine, and a form
// for a secret, which the specification forbids, are refused to the server.

// codeURLElicitation is the error with which a legacy server has a person visit
// addresses first; they stand in its data.
const codeURLElicitation = -32042

// maxElicitDepth bounds how deep a form is searched. The specification knows flat
// ones alone.
const maxElicitDepth = 8

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
	if field := secretField(wire.Get(params, "requestedSchema"), 0); field != "" {
		return "the form asks for a secret (" + clip(field) + "): the specification of MCP has those entered at an address of the server, with the mode url"
	}
	return ""
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

// secretField gives the name of a member of a form that is for a secret; "" is
// none.
func secretField(schema []byte, depth int) string {
	if len(schema) == 0 || schema[0] != '{' || depth > maxElicitDepth {
		return ""
	}
	properties := wire.Get(schema, "properties")
	if len(properties) == 0 || properties[0] != '{' {
		return ""
	}
	for key, field := range wire.Members(properties) {
		name := wire.Unescape(key)
		kind, _ := wire.String(wire.Get(field, "type"))
		format, _ := wire.String(wire.Get(field, "format"))
		title, _ := wire.String(wire.Get(field, "title"))
		switch {
		case strings.EqualFold(format, "password"), string(wire.Get(field, "writeOnly")) == "true":
			return name
		case kind == "boolean": // whether to have one is no secret
		case namesSecret(name), namesSecret(title):
			return name
		}
		if inner := secretField(field, depth+1); inner != "" {
			return inner
		}
	}
	return ""
}

// namesSecret says whether a name is that of a secret. It is read word by word, so
// that max_tokens and passport are none.
func namesSecret(name string) bool {
	words := nameWords(name)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch w {
		case "password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "cvv", "cvc", "cvv2", "cvc2", "ssn", "otp", "totp", "credential", "credentials", "apikey", "mnemonic":
			return true
		case "token":
			// Of counts and limits of tokens there are many.
			if next == "" && !slices.ContainsFunc(words[:i], func(w string) bool { return w == "max" || w == "min" || w == "per" }) {
				return true
			}
		case "api", "private", "access", "signing", "encryption":
			if next == "key" || next == "token" {
				return true
			}
		case "card", "creditcard":
			if next == "number" || next == "code" || next == "" && w == "creditcard" {
				return true
			}
		case "credit", "debit":
			if next == "card" {
				return true
			}
		case "security":
			if next == "code" {
				return true
			}
		case "social":
			if next == "security" {
				return true
			}
		case "seed", "recovery":
			if next == "phrase" || next == "code" {
				return true
			}
		case "cardnumber", "accesstoken", "privatekey", "clientsecret", "authtoken", "pin":
			return true
		}
	}
	return false
}

// nameWords gives the words of a name, in lower case: apiKey, api_key, API-Key and
// "API key" are the same two.
func nameWords(name string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && lower:
			end()
			word.WriteRune(r)
		default:
			word.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}

// judgeAsk gives the answer to a request of a legacy server that is refused for
// what it asks people for; else it gives refused.
func (o *Options) judgeAsk(m *wire.Message, refused *wire.Error) *wire.Error {
	if m.Method != wire.MethodElicitationCreate {
		return refused
	}
	why := refuseElicitation(m.Params)
	if why == "" {
		return refused
	}
	o.refusedInput(why)
	return &wire.Error{Code: wire.CodeInvalidParams, Message: why}
}

// checkInputs refuses the inputRequests of a modern server that ask people for what
// they must not be asked for.
func (o *Options) checkInputs(requests []byte) error {
	if len(requests) == 0 || requests[0] != '{' {
		return nil
	}
	for _, request := range wire.Members(requests) {
		if method, _ := wire.String(wire.Get(request, "method")); method != wire.MethodElicitationCreate {
			continue
		}
		if why := refuseElicitation(wire.Get(request, "params")); why != "" {
			o.refusedInput(why)
			return junctor.Errorf(junctor.CodeUpstream, "server %s asks for input that is not passed on: %s", o.ID, why)
		}
	}
	return nil
}

// checkError is the error of a server, unless it sends people where they must not
// be sent.
func (o *Options) checkError(err error) error {
	e, own := err.(*wire.Error) //nolint:errorlint // it is as readAnswer gave it
	if !own || e.Code != codeURLElicitation {
		return err
	}
	for raw := range wire.Elements(wire.Get(e.Data, "elicitations")) {
		if why := refuseElicitation(raw); why != "" {
			o.refusedInput(why)
			return junctor.Errorf(junctor.CodeUpstream, "server %s asks for input that is not passed on: %s", o.ID, why)
		}
	}
	return err
}

// refusedInput records that people were not asked for something.
func (o *Options) refusedInput(why string) {
	if o.limits.warn(o.Logger, "a server's request for input was refused", "server", o.ID, "reason", why) && o.OnRefusedInput != nil {
		o.OnRefusedInput(why)
	}
}
