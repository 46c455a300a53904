package junctor

import (
	"maps"
	"regexp"
	"strings"
)

// The prefixes of references: texts from which a credential is read when it is
// used. They name things on the machine of the instance, so only some
// principals may enter one (package admission).
const (
	ReferenceEnv     = "env:"  // an environment variable: env:NAME
	ReferenceFile    = "file:" // a file: file:/path
	ReferenceCommand = "cmd:"  // the output of a program: cmd:program args
)

// Places of a connection where a credential may stand.
const (
	PlaceAuth      = "auth"
	PlaceSubject   = "auth/subject"
	PlaceIDPSecret = "auth/idp_secret" //nolint:gosec // a place, not a secret
	PlaceQuery     = "query"
	PlaceHeaders   = "headers/" // followed by the name of the header
	PlaceEnv       = "env/"     // followed by the name of the variable
	PlaceCommand   = "command/" // followed by the position of the word in the command
)

// IsReference reports whether a text at a place of a connection is a reference.
// Place "" stands for a text that is nothing but a credential. At PlaceQuery
// only env:NAME counts, because other prefixes also occur in ordinary queries.
func IsReference(place, text string) bool {
	if place == PlaceQuery {
		ok, _ := regexp.MatchString(`^env:[A-Za-z_][A-Za-z0-9_]*$`, text)
		return ok
	}
	return strings.HasPrefix(text, ReferenceEnv) || strings.HasPrefix(text, ReferenceFile) || IsCommandReference(text)
}

// IsCommandReference reports whether a reference runs a program.
func IsCommandReference(reference string) bool { return strings.HasPrefix(reference, ReferenceCommand) }

// MapCredentials returns a copy of the connection in which f has replaced each
// text at a place of credentials.
func (c Connection) MapCredentials(f func(place, text string) string) Connection {
	if c.Auth != nil {
		auth := *c.Auth
		for _, one := range []struct {
			place string
			text  *string
		}{{PlaceAuth, &auth.Secret}, {PlaceSubject, &auth.Subject}, {PlaceIDPSecret, &auth.IDPSecret}} {
			if *one.text != "" {
				*one.text = f(one.place, *one.text)
			}
		}
		c.Auth = &auth
	}
	if address, query, ok := strings.Cut(c.URL, "?"); ok && query != "" {
		c.URL = address + "?" + f(PlaceQuery, query)
	}
	each := func(m map[string]string, prefix string) map[string]string {
		m = maps.Clone(m)
		for name, text := range m {
			m[name] = f(prefix+name, text)
		}
		return m
	}
	c.Headers, c.Env = each(c.Headers, PlaceHeaders), each(c.Env, PlaceEnv)
	return c
}

// References lists the references of a connection.
func (c Connection) References() (refs []string) {
	for _, r := range c.PlacedReferences() {
		refs = append(refs, r.Text)
	}
	return refs
}

// PlacedReference is a reference and its place in a connection.
type PlacedReference struct{ Place, Text string }

// PlacedReferences lists the references of a connection with their places.
func (c Connection) PlacedReferences() (refs []PlacedReference) {
	c.MapCredentials(func(place, text string) string {
		if IsReference(place, text) {
			refs = append(refs, PlacedReference{place, text})
		}
		return text
	})
	return refs
}
