package call

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Request is an HTTP request that is not sent yet. It can be sent several
// times.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	// Body is nil if the request has none.
	Body []byte
}

// BuildRequest makes the request of a call. base is the URL of the API; arguments is a
// JSON object; bound returns the token of a scheme for arguments that carry
// one.
//
// No value leaves its place, whatever it contains: a path argument cannot add a
// segment, a header no line, a query no parameter. A value that cannot be sent
// is an error with CodeInvalid and the pointer of the argument.
func (p *Plan) BuildRequest(base string, arguments []byte, bound func(scheme string) (string, bool)) (*Request, error) {
	given := p.collectValues(arguments, bound)
	path, err := p.buildPath(given)
	if err != nil {
		return nil, err
	}
	if p.Base != "" {
		base = p.Base
	}
	u, err := joinURL(base, path)
	if err != nil {
		return nil, err
	}
	r := &Request{Method: p.Method, URL: u, Header: http.Header{}}
	if query := p.buildQuery(given); query != "" {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+query, "&")
	}
	if err := p.setHeaders(given, r.Header); err != nil {
		return nil, err
	}
	if p.Accept != "" {
		r.Header.Set("Accept", p.Accept)
	}
	return r, p.buildBody(given, r)
}

// collectValues returns the arguments by name. A bound token replaces an
// argument of the caller.
func (p *Plan) collectValues(arguments []byte, bound func(string) (string, bool)) map[string][]byte {
	given := map[string][]byte{}
	for key, value := range wire.Members(arguments) {
		given[wire.Unescape(key)] = value
	}
	for _, a := range p.Args {
		if a.Scheme == "" || bound == nil {
			continue
		}
		if token, ok := bound(a.Scheme); ok {
			given[a.Name] = wire.AppendString(nil, token)
		}
	}
	return given
}

// invalidError returns the error for an argument that cannot be sent. why
// continues the sentence "the argument NAME …".
func (a *Arg) invalidError(why string) error {
	message := "the argument " + a.Name + " " + why
	e := junctor.Errorf(junctor.CodeInvalid, "%s", message)
	e.Violations = []junctor.Violation{{Pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(a.Name), Message: why}}
	return e
}

// buildPath fills in the variables of the path. It refuses a segment that ends
// up empty, "." or "..", even if only several arguments together make it so:
// servers would resolve it to another path, and the call would reach another
// operation.
func (p *Plan) buildPath(given map[string][]byte) (string, error) {
	var out strings.Builder
	// filled are the arguments in the segment that is being written.
	var filled []*Arg
	begin := 0
	end := func() error {
		segment := out.String()[begin:]
		if plain, err := url.PathUnescape(segment); len(filled) > 0 && (err != nil || plain == "" || plain == "." || plain == "..") {
			return filled[0].invalidError("would lead to another path: it must not be empty or consist only of dots")
		}
		filled = nil
		return nil
	}
	for rest := p.Path; rest != ""; {
		if rest[0] == '/' {
			if err := end(); err != nil {
				return "", err
			}
			out.WriteByte('/')
			begin, rest = out.Len(), rest[1:]
			continue
		}
		name, after, isVariable := cutVariable(rest)
		if !isVariable {
			out.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		value, a, err := p.fillVariable(name, given)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		filled, rest = append(filled, a), after
	}
	return out.String(), end()
}

// cutVariable takes {name} off the beginning of a template.
func cutVariable(s string) (name, after string, ok bool) {
	if s[0] != '{' {
		return "", "", false
	}
	name, after, ok = strings.Cut(s[1:], "}")
	return name, after, ok && !strings.Contains(name, "/")
}

// fillVariable returns the encoded value of a variable of the path, and its
// argument.
func (p *Plan) fillVariable(name string, given map[string][]byte) (string, *Arg, error) {
	i := slices.IndexFunc(p.Args, func(a Arg) bool { return a.Place == Path && a.Key == name })
	if i < 0 {
		return "", nil, junctor.Errorf(junctor.CodeInternal, "the path %s has a variable %s that no argument fills", p.Path, name)
	}
	a := &p.Args[i]
	escape := escapeAll
	if a.AllowReserved {
		escape = escapePath
	}
	value, ok := a.expandText(given[a.Name], escape)
	if plain := plainText(given[a.Name]); !ok || plain == "" || plain == "." || plain == ".." {
		return "", nil, a.invalidError("is part of the path, where it must not be empty, . or ..")
	}
	return value, a, nil
}

// joinURL joins the base URL and a path. A query of the base is kept. A base
// without a host, or with a user or fragment, is refused.
func joinURL(base, path string) (*url.URL, error) {
	address, query, _ := strings.Cut(base, "?")
	if path != "" {
		address = strings.TrimRight(address, "/") + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Fragment != "" || u.User != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the API has no valid address: set its base URL, such as https://api.example.com/v1")
	}
	u.RawQuery = query
	return u, nil
}

// buildQuery returns the encoded query: the fixed part and the arguments.
func (p *Plan) buildQuery(given map[string][]byte) string {
	parts := []string{}
	if p.Query != "" {
		parts = append(parts, p.Query)
	}
	for i := range p.Args {
		a := &p.Args[i]
		value := given[a.Name]
		switch a.Place {
		case Query:
			escape := escapeAll
			if a.AllowReserved {
				escape = escapeQuery
			}
			if whole := joinExploded(a.expandPairs(value, escape), "&"); whole != "" {
				parts = append(parts, whole)
			}
		case QueryString:
			if whole := encodeWholeQuery(a, value); whole != "" {
				parts = append(parts, whole)
			}
		case Path, Header, Cookie, Field, WholeBody, Variable:
		}
	}
	return strings.Join(parts, "&")
}

// encodeWholeQuery encodes one argument that is the whole query (OpenAPI 3.2).
func encodeWholeQuery(a *Arg, value []byte) string {
	switch {
	case kindOf(value) == kindAbsent:
		return ""
	case kindOf(value) == kindObject && !isJSON(a.Media):
		var all []encodedPair
		for key, member := range wire.Members(value) {
			field := Arg{Key: wire.Unescape(key), Style: styleForm, Explode: true}
			all = append(all, field.expandPairs(member, escapeAll)...)
		}
		return joinExploded(all, "&")
	}
	return escapeAll(contentText(a.Media, value))
}

// setHeaders sets the headers and cookies of the arguments in h.
func (p *Plan) setHeaders(given map[string][]byte, h http.Header) error {
	var cookies []encodedPair
	for i := range p.Args {
		a := &p.Args[i]
		value := given[a.Name]
		switch a.Place {
		case Header:
			line, ok := a.expandText(value, keepText)
			switch {
			case !ok || isReservedHeader(a.Key):
			case strings.ContainsFunc(line, isControlCharacter):
				return a.invalidError("is sent as a header, which must not contain line breaks or control characters")
			default:
				h.Set(a.Key, line)
			}
		case Cookie:
			escape := escapeAll
			if a.Style == styleCookie {
				escape = keepText
			}
			pairs := a.expandPairs(value, escape)
			for _, c := range pairs {
				if !isCookieText(c.key) || !isCookieText(c.value) {
					return a.invalidError("is sent as a cookie, which must not contain spaces, quotes, semicolons or backslashes")
				}
			}
			cookies = append(cookies, pairs...)
		case Path, Query, QueryString, Field, WholeBody, Variable:
		}
	}
	if len(cookies) > 0 {
		// Each is a cookie of its own: behind & a server would take it for a part
		// of the one before.
		h.Set("Cookie", joinExploded(cookies, "; "))
	}
	return nil
}

// isReservedHeader reports whether arguments may not set a header. OpenAPI
// ignores the first three; the others belong to the connection, and setting
// them could split or redirect the request.
func isReservedHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Content-Type", "Authorization",
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection":
		return true
	}
	return !isHeaderName(name)
}

// isHeaderName reports whether a name is a valid token of HTTP.
func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
	})
}

// isControlCharacter reports whether a header cannot hold a character.
func isControlCharacter(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isCookieText reports whether a text can be part of a cookie as it is.
func isCookieText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`";\`, r) })
}
