package credential

import (
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// mine is what is sealed of the credentials that a user entered for a server:
// how they are sent is sealed with them.
type mine struct {
	Origin  string            `json:"origin"` // of the server, whatever the credentials are
	Auth    *junctor.Auth     `json:"auth,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func serverOrigin(c *junctor.Connection) string {
	return (&junctor.Connection{Transport: c.Transport, URL: c.URL}).Origin()
}

// PackUser gives what is to be sealed of the credentials that a user entered for
// the server of a connection. They are literals: what a reference names is read
// on this machine, and belongs to its operator.
func PackUser(c *junctor.Connection, auth *junctor.Auth, headers map[string]string) (seal.Secret, error) {
	alone := junctor.Connection{Transport: c.Transport, URL: c.URL, Auth: auth, Headers: headers}
	if err := alone.Check(); err != nil {
		return seal.Secret{}, err
	}
	alone.URL = ""
	switch {
	case (auth == nil || auth.Type == junctor.AuthNone) && len(headers) == 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "there is no credential in it: give auth, or headers")
	case len(alone.References()) > 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "credentials of your own are entered as they are: env:, file: and cmd: would be read on the machine of the instance")
	case len(Masks(alone)) > 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "%q stands for a stored credential: enter the credential itself", junctor.Masked)
	}
	text, err := json.Marshal(mine{serverOrigin(c), auth, headers})
	if err != nil {
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "the credentials cannot be stored")
	}
	return seal.NewSecret(string(text)), nil
}

// UnpackUser gives them back, for the server they were entered for and for no
// other: a connection with nothing but these credentials, masked, and the
// literals that stood in it.
func UnpackUser(packed seal.Secret, c *junctor.Connection) (junctor.Connection, Set, error) {
	var m mine
	if err := json.Unmarshal([]byte(packed.Reveal()), &m); err != nil {
		return junctor.Connection{}, nil, junctor.Errorf(junctor.CodeUnavailable, "the stored credentials cannot be read: enter them again")
	}
	if m.Origin != serverOrigin(c) {
		return junctor.Connection{}, nil, junctor.Errorf(junctor.CodeDenied, "the stored credentials were entered for another address and are not sent to this one: enter them again")
	}
	alone, set := Split(junctor.Connection{Transport: c.Transport, Auth: m.Auth, Headers: m.Headers})
	return alone, set, nil
}

// After makes the source know what the one before it gave out: calls with that
// may be under way.
func (s *Source) After(former *Source) {
	former.mu.Lock()
	defer former.mu.Unlock()
	for place, secret := range former.gave {
		if !strings.HasPrefix(place, placeFormer) {
			s.know(placeFormer+placeFormer+place, secret)
		}
	}
}
