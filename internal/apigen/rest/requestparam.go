package rest

import (
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// implicitHeaders are headers that a client sends by itself, or that other code
// sets. They are no parameters.
func implicitHeaders() []string {
	return []string{
		"accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-length", "content-type", "cookie", "dnt", "host", "origin", "pragma",
		"priority", "referer", "te", "upgrade-insecure-requests", "user-agent", "x-requested-with", "if-none-match", "if-modified-since", "authorization",
	}
}

// addParam adds a parameter by its name and type. A parameter that
// authenticates the request becomes a security scheme instead; its value is
// dropped.
func (r *request) addParam(list *[]requestField, in doc.Place, name, value string, at doc.Position) {
	lower := strings.ToLower(name)
	switch {
	case in == doc.InHeader && lower == "authorization":
		r.addAuthorization(value)
		return
	case in == doc.InHeader && (slices.Contains(implicitHeaders(), lower) || strings.HasPrefix(lower, "sec-") || strings.HasPrefix(lower, ":")):
		return
	// Not even the type of a secret is kept.
	case patterns().secretName.MatchString(name):
		r.addScheme("apiKey_"+paramName(name), doc.Scheme{Type: "apiKey", In: in, Name: name})
		return
	}
	if !slices.ContainsFunc(*list, func(f requestField) bool { return f.name == name }) {
		*list = append(*list, requestField{name: name, shape: shapeOfValue(value), at: at})
	}
}

// addAuthorization adds the security scheme of an Authorization header.
func (r *request) addAuthorization(value string) {
	how, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	switch strings.ToLower(how) {
	case "basic":
		r.addScheme("basic", doc.Scheme{Type: "basic"})
	case "bearer":
		r.addScheme("bearer", doc.Scheme{Type: "bearer"})
	default:
		r.addScheme("apiKey_Authorization", doc.Scheme{Type: "apiKey", In: doc.InHeader, Name: "Authorization"})
	}
}

// addScheme adds a security scheme.
func (r *request) addScheme(name string, s doc.Scheme) {
	if r.schemes == nil {
		r.schemes = map[string]doc.Scheme{}
	}
	r.schemes[name] = s
}

// shapeOfValue guesses the type of a value in a URL or header.
func shapeOfValue(value string) *valueShape {
	switch {
	case value == "true" || value == "false":
		return shapeOfType("boolean")
	case patterns().numeric.MatchString(value) && len(value) < 16:
		return shapeOfType("integer")
	default:
		return shapeOfType("string")
	}
}
