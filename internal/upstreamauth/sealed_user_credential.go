package upstreamauth

import (
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// sealedUserCredential is the stored form of the credentials that a user entered
// for a server. Auth and Headers contain the secrets in plain text; the vault seals
// the whole.
type sealedUserCredential struct {
	Origin  string            `json:"origin"` // of the server, also if the token endpoint is elsewhere
	Auth    *junctor.Auth     `json:"auth,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// serverOrigin returns the origin of the server's address alone, without the token
// endpoints that Connection.Origin may consider.
func serverOrigin(c *junctor.Connection) string {
	return (&junctor.Connection{Transport: c.Transport, URL: c.URL}).Origin()
}

// PackUserCredential checks the credentials that a user entered for the server of a
// connection, and returns them in the form that the vault stores. References are
// refused: they would be read on the operator's machine and reveal what the user
// has no right to.
func PackUserCredential(c *junctor.Connection, auth *junctor.Auth, headers map[string]string) (seal.Secret, error) {
	alone := junctor.Connection{Transport: c.Transport, URL: c.URL, Auth: auth, Headers: headers}
	if err := alone.Check(); err != nil {
		return seal.Secret{}, err
	}
	// The URL was only needed for the check. Its query is the operator's, and must
	// not count as a credential of the user.
	alone.URL = ""
	switch {
	case (auth == nil || auth.Type == junctor.AuthNone) && len(headers) == 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "the credential is missing: set auth or headers")
	case len(alone.References()) > 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "user credentials must be literal values: env:, file: and cmd: would be read on the machine of the instance")
	case len(MaskedPlaces(alone)) > 0:
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "%q is the placeholder of a stored credential: enter the credential itself", junctor.Masked)
	}
	text, err := json.Marshal(sealedUserCredential{serverOrigin(c), auth, headers})
	if err != nil {
		return seal.Secret{}, junctor.Errorf(junctor.CodeInvalid, "cannot encode the credentials")
	}
	return seal.NewSecret(string(text)), nil
}

// UnpackUserCredential reads the form that PackUserCredential returned. It returns
// a connection that has only these credentials, masked, and their literals. It
// returns a denied error if the server has another origin than the one they were
// entered for.
func UnpackUserCredential(packed seal.Secret, c *junctor.Connection) (junctor.Connection, LiteralSet, error) {
	var m sealedUserCredential
	if err := json.Unmarshal([]byte(packed.Reveal()), &m); err != nil {
		return junctor.Connection{}, nil, junctor.Errorf(junctor.CodeUnavailable, "the stored credentials cannot be read: enter them again")
	}
	if m.Origin != serverOrigin(c) {
		return junctor.Connection{}, nil, junctor.Errorf(junctor.CodeDenied, "the stored credentials were entered for another address, and Junctor does not send them to this one: enter them again")
	}
	alone, set := SplitLiterals(junctor.Connection{Transport: c.Transport, Auth: m.Auth, Headers: m.Headers})
	return alone, set, nil
}
