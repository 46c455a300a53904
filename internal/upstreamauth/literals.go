package upstreamauth

import (
	"encoding/json"
	"maps"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// LiteralSet maps a place in a connection to the credential that was entered there.
// The places are auth, auth/subject, auth/idp_secret, query, headers/NAME, env/NAME and
// command/N, which has the whole Nth word of a command if a part of it looks like a
// secret. Printing a LiteralSet shows only the places.
type LiteralSet map[string]seal.Secret

// Two more keys of Source.givenSecrets that are no places of a connection: the form
// of a credential that is sent, such as a base64 pair, and the prefix of secrets
// that were replaced.
const (
	placeSent   = "sent"
	placeFormer = "former/"
)

// SplitLiterals moves the literals out of a connection and leaves junctor.Masked in
// their places. References stay, since they contain no secret. Words of a command are
// literals if they look like secrets.
func SplitLiterals(c junctor.Connection) (junctor.Connection, LiteralSet) {
	literals := LiteralSet{}
	c.Command = sealWords(c.Command, literals)
	return c.MapCredentials(func(place, text string) string {
		if text == junctor.Masked || text == "" || junctor.IsReference(place, text) {
			return text
		}
		literals[place] = seal.NewSecret(text)
		return junctor.Masked
	}), literals
}

// MaskedPlaces lists the places where a connection has junctor.Masked for a
// credential.
func MaskedPlaces(c junctor.Connection) (places []string) {
	for i, word := range c.Command {
		if isMaskedWord(i, word) {
			places = append(places, placeOfWord(i))
		}
	}
	c.MapCredentials(func(place, text string) string {
		if text == junctor.Masked {
			places = append(places, place)
		}
		return text
	})
	return places
}

// KeepLiterals returns the literals of a changed server: the entered ones, and from
// stored those that the change keeps with junctor.Masked.
//
// Literals are bound to the destination they were entered for. If it changed,
// KeepLiterals returns a denied error, since anyone who may change the address could
// otherwise read the credential there. A mask without a stored literal is an
// invalid error. Package admission judges whether a reference may go to another
// destination.
func KeepLiterals(now *junctor.Server, entered LiteralSet, former *junctor.Server, stored LiteralSet) (LiteralSet, error) {
	out := maps.Clone(entered)
	if out == nil {
		out = LiteralSet{}
	}
	keepWords(now.Command, former.Command, stored, out)
	if err := CheckCommand(now.Command, out); err != nil {
		return nil, err
	}
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
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is the placeholder of a stored credential, but no credential is stored for %s: enter it", junctor.Masked, strings.Join(missing, ", "))
	case len(bound) > 0:
		return nil, junctor.Errorf(junctor.CodeDenied, "the credentials for %s were entered for another address, and Junctor does not send them to this one: enter them again", strings.Join(bound, ", "))
	}
	return out, nil
}

// sealedLiterals is the stored form of a LiteralSet. Origin binds it to one address
// even if the row is changed without KeepLiterals.
type sealedLiterals struct {
	Origin string            `json:"origin"`
	Values map[string]string `json:"values"`
}

// Pack returns the literals in the form that the vault stores, bound to the origin
// of c.
func (s LiteralSet) Pack(c junctor.Connection) (seal.Secret, error) {
	sealed := sealedLiterals{Origin: c.Origin(), Values: map[string]string{}}
	for place, secret := range s {
		sealed.Values[place] = secret.Reveal()
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "cannot encode the credentials")
	}
	return seal.NewSecret(string(text)), nil
}

// UnpackLiterals reads the form that Pack returned. It returns a denied error if c
// has another origin than the one they were entered for.
func UnpackLiterals(packed seal.Secret, c junctor.Connection) (LiteralSet, error) {
	var sealed sealedLiterals
	if err := json.Unmarshal([]byte(packed.Reveal()), &sealed); err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the stored credentials cannot be read: enter them again")
	}
	if sealed.Origin != c.Origin() {
		return nil, junctor.Errorf(junctor.CodeDenied, "the stored credentials were entered for another address, and Junctor does not send them to this one: enter them again")
	}
	s := LiteralSet{}
	for place, text := range sealed.Values {
		s[place] = seal.NewSecret(text)
	}
	return s, nil
}
