package authority

import (
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// once gives the value of a parameter that stands at most once; "" where it does
// not stand at all.
func once(v url.Values, name string) (string, *fault) {
	switch list := v[name]; len(list) {
	case 0:
		return "", nil
	case 1:
		return list[0], nil
	}
	return "", faultf("invalid_request", "the parameter "+name+" stands there more than once")
}

// read reads parameters into texts, each of which stands at most once.
func read(v url.Values, to map[string]*string) *fault {
	for name, text := range to {
		value, f := once(v, name)
		if f != nil {
			return f
		}
		*text = value
	}
	return nil
}

// request is what a program asks a person for.
type request struct {
	Client    string          `json:"client"`
	Name      string          `json:"name"`
	Redirect  string          `json:"redirect"`
	State     *string         `json:"state,omitempty"`
	Challenge string          `json:"challenge"`
	Resource  string          `json:"resource"`
	Scopes    []junctor.Scope `json:"scopes"`

	anew bool // the person is to be asked, whatever they said before
}

const maxState = 2000

// readRequest reads what a program asks for, but for who it is and where the
// answer goes: the caller has judged those.
func (a *Authority) readRequest(v url.Values) (*request, *fault) {
	var kind, method, scope, prompt string
	var r request
	if f := read(v, map[string]*string{
		"response_type": &kind, "code_challenge": &r.Challenge, "code_challenge_method": &method, "resource": &r.Resource, "scope": &scope, "prompt": &prompt,
	}); f != nil {
		return nil, f
	}
	state, f := once(v, "state")
	if f != nil {
		return nil, f
	}
	if v.Has("state") {
		r.State = &state
	}
	switch {
	case kind == "":
		return nil, faultf("invalid_request", "response_type is missing; it has to be code")
	case kind != "code":
		return nil, faultf("unsupported_response_type", "response_type has to be code")
	case v.Has("request"):
		return nil, faultf("request_not_supported", "the parameter request is not known here")
	case v.Has("request_uri"):
		return nil, faultf("request_uri_not_supported", "the parameter request_uri is not known here")
	case r.Challenge == "":
		return nil, faultf("invalid_request", "code_challenge is missing: PKCE is needed, with S256")
	case method != "S256":
		return nil, faultf("invalid_request", "code_challenge_method has to be S256")
	case !isChallenge(r.Challenge):
		return nil, faultf("invalid_request", "code_challenge is not the SHA-256 of a verifier, in base64url")
	case len(state) > maxState:
		return nil, faultf("invalid_request", "state is too long")
	}
	if r.Resource == "" { // programs of before 2025-06-18 do not say
		r.Resource = a.Issuer() + "/mcp"
	}
	if !a.door(r.Resource) {
		return nil, faultf("invalid_target", "resource is none of the doors of this instance, such as "+a.Issuer()+"/mcp")
	}
	r.anew = slices.Contains(strings.Fields(prompt), "consent")
	r.Scopes, f = a.scopes(scope)
	return &r, f
}

// isChallenge says whether a text is a SHA-256 in base64url.
func isChallenge(text string) bool { return len(text) == 43 && isURLSafe(text) }

func isURLSafe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	})
}

// scopes are those that a program asks for and that tokens can carry; all of
// them where it does not say.
func (a *Authority) scopes(asked string) ([]junctor.Scope, *fault) {
	if strings.TrimSpace(asked) == "" {
		return slices.Clone(a.most), nil
	}
	var out []junctor.Scope
	names := strings.Fields(asked)
	for _, s := range a.o.Scopes {
		if slices.Contains(names, s.Name) && !slices.Contains(out, s.Means) {
			out = append(out, s.Means)
		}
	}
	if len(out) == 0 {
		return nil, faultf("invalid_scope", "none of the scopes is one that tokens can carry here: "+a.names(a.most))
	}
	return out, nil
}

// names are scopes as clients say them.
func (a *Authority) names(scopes []junctor.Scope) string {
	var names []string
	for _, s := range a.o.Scopes {
		if slices.Contains(scopes, s.Means) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}
