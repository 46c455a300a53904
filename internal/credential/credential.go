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

// Places that are none of a connection's: what was made of a credential to be
// sent, and what stood at a place before.
const (
	placeSent   = "sent"
	placeFormer = "former/"
)

// Split takes the literals out of a connection: where one stood there is
// junctor.Masked. References stay, since they hold nothing secret.
func Split(c junctor.Connection) (junctor.Connection, Set) {
	literals := Set{}
	return c.MapCredentials(func(place, text string) string {
		if text == junctor.Masked || text == "" || junctor.IsReference(place, text) {
			return text
		}
		literals[place] = seal.NewSecret(text)
		return junctor.Masked
	}), literals
}

// Masks lists the places where a connection has junctor.Masked for a credential.
func Masks(c junctor.Connection) (places []string) {
	c.MapCredentials(func(place, text string) string {
		if text == junctor.Masked {
			places = append(places, place)
		}
		return text
	})
	return places
}

// Keep fills in, from the literals that are stored for the former connection,
// what the new one only says to keep. Literals are bound to the destination they were
// entered for: where it changed, each has to be entered again. Who may take a
// reference to another destination is judged by package admission.
func Keep(now *junctor.Server, entered Set, former *junctor.Server, stored Set) (Set, error) {
	out := maps.Clone(entered)
	var missing, bound []string
	now.MapCredentials(func(place, text string) string {
		switch {
		case text != junctor.Masked || !entered[place].IsZero():
		case stored[place].IsZero():
			missing = append(missing, place)
		case now.Destination(place, now.API) != former.Destination(place, former.API):
			bound = append(bound, place)
		default:
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
