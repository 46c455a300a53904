// Package credential turns what is stored of a bring-your-own server's
// credentials into what is sent: it takes literals out of a connection so that
// they can be sealed, puts them back for the origin they were entered for and
// for no other, reads references when they are used, and makes the headers and
// variables that upstream hands on. It stands beside upstream; app gives it the
// vault, the egress client and the right to run the operator's commands.
package credential

import (
	"encoding/json"
	"maps"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Set is literals by their place in a connection: auth, auth/subject,
// auth/idp_secret, query, headers/NAME, env/NAME. However it is printed, it shows the places alone.
type Set map[string]seal.Secret

// Places of a connection where a credential may stand.
const (
	placeAuth    = "auth"
	placeSubject = "auth/subject"
	placeIDP     = "auth/idp_secret"
	placeQuery   = "query"
	placeHeaders = "headers/"
	placeEnv     = "env/"

	// No places of a connection: what was made of a credential to be sent, and
	// what stood at a place before.
	placeSent   = "sent"
	placeFormer = "former/"
)

// walk gives a copy of the connection in which each text at a place of
// credentials is what f makes of it.
func walk(c junctor.Connection, f func(place, text string) string) junctor.Connection {
	if c.Auth != nil {
		auth := *c.Auth
		for _, one := range []struct {
			place string
			text  *string
		}{{placeAuth, &auth.Secret}, {placeSubject, &auth.Subject}, {placeIDP, &auth.IDPSecret}} {
			if *one.text != "" {
				*one.text = f(one.place, *one.text)
			}
		}
		c.Auth = &auth
	}
	if address, query, ok := strings.Cut(c.URL, "?"); ok && query != "" {
		c.URL = address + "?" + f(placeQuery, query)
	}
	each := func(m map[string]string, prefix string) map[string]string {
		m = maps.Clone(m)
		for name, text := range m {
			m[name] = f(prefix+name, text)
		}
		return m
	}
	c.Headers, c.Env = each(c.Headers, placeHeaders), each(c.Env, placeEnv)
	return c
}

// Split takes the literals out of a connection: where one stood there is
// junctor.Masked. References stay, since they hold nothing secret.
func Split(c junctor.Connection) (junctor.Connection, Set) {
	literals := Set{}
	return walk(c, func(place, text string) string {
		if text == junctor.Masked || text == "" || isReference(place, text) {
			return text
		}
		literals[place] = seal.NewSecret(text)
		return junctor.Masked
	}), literals
}

// References lists the references of a connection.
func References(c junctor.Connection) (refs []string) {
	walk(c, func(place, text string) string {
		if isReference(place, text) {
			refs = append(refs, text)
		}
		return text
	})
	return refs
}

// Masks lists the places where a connection has junctor.Masked for a credential.
func Masks(c junctor.Connection) (places []string) {
	walk(c, func(place, text string) string {
		if text == junctor.Masked {
			places = append(places, place)
		}
		return text
	})
	return places
}

// Keep fills in, from the literals that are stored for the former connection,
// what the new one only says to keep. Credentials are bound to the origin they
// were entered for: where it changed, each has to be entered again, references
// too.
func Keep(now junctor.Connection, entered Set, former junctor.Connection, stored Set) (Set, error) {
	out := maps.Clone(entered)
	moved := now.Origin() != former.Origin()
	formerRefs := map[string]string{}
	walk(former, func(place, text string) string {
		formerRefs[place] = text
		return text
	})
	var missing, bound []string
	walk(now, func(place, text string) string {
		switch {
		case text == junctor.Masked && !entered[place].IsZero():
		case text == junctor.Masked && stored[place].IsZero():
			missing = append(missing, place)
		case text == junctor.Masked && moved, moved && isReference(place, text) && formerRefs[place] == text:
			bound = append(bound, place)
		case text == junctor.Masked:
			out[place] = stored[place]
		}
		return text
	})
	switch {
	case len(missing) > 0:
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q stands for a stored credential, and there is none for %s", junctor.Masked, strings.Join(missing, ", "))
	case len(bound) > 0:
		return nil, junctor.Errorf(junctor.CodeDenied, "the credentials at %s were entered for another address and are not sent to this one: enter them again", strings.Join(bound, ", "))
	}
	return out, nil
}

// bundle is what is sealed.
type bundle struct {
	Origin string            `json:"origin"`
	Values map[string]string `json:"values"`
}

// Pack gives what is to be sealed of a connection's literals.
func (s Set) Pack(c junctor.Connection) (seal.Secret, error) {
	b := bundle{Origin: c.Origin(), Values: map[string]string{}}
	for place, secret := range s {
		b.Values[place] = secret.Reveal()
	}
	text, err := json.Marshal(b)
	if err != nil {
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "the credentials cannot be stored")
	}
	return seal.NewSecret(string(text)), nil
}

// Unpack gives the literals back, for the origin they were entered for.
func Unpack(packed seal.Secret, c junctor.Connection) (Set, error) {
	var b bundle
	if err := json.Unmarshal([]byte(packed.Reveal()), &b); err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the stored credentials cannot be read: enter them again")
	}
	if b.Origin != c.Origin() {
		return nil, junctor.Errorf(junctor.CodeDenied, "the stored credentials were entered for another address and are not sent to this one: enter them again")
	}
	s := Set{}
	for place, text := range b.Values {
		s[place] = seal.NewSecret(text)
	}
	return s, nil
}
