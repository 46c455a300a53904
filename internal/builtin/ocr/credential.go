package ocr

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

const (
	argCredentials = "credentials_json" // name of the argument, for messages

	defaultTokenURI    = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, not a credential
	maxCredentialBytes = 64 << 10
)

// credential is what a call authenticates with at Cloud Vision: an API key, or
// a service account, for which a token must be obtained first.
type credential struct {
	apiKey  seal.Secret
	account *serviceAccount
}

// serviceAccount is a service account, with its private key still as text.
type serviceAccount struct {
	email, keyID string
	tokenURI     string
	key          seal.Secret
	digest       [sha256.Size]byte // of the whole credential: its key in the cache of tokens
}

// parseCredential parses the JSON of a service account, {"api_key": "…"}, or an
// API key. Its errors describe the form and repeat nothing of the credential.
func parseCredential(text string, base *url.URL) (credential, error) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) > maxCredentialBytes:
		return credential{}, errors.New("it is too long for a credential")
	case strings.HasPrefix(text, "{"):
		return parseCredentialJSON(text, base)
	// A path is a common mistake. The server never reads a credential from a
	// caller's path.
	case strings.ContainsAny(text, `/\`) || strings.HasSuffix(text, ".json"):
		return credential{}, errors.New("it looks like the name of a file: give the file's contents")
	}
	return newAPIKey(text)
}

// newAPIKey checks the form of an API key.
func newAPIKey(key string) (credential, error) {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) || key == "" {
		return credential{}, errors.New("it is neither the JSON of a service account nor an API key, which is one word of letters, digits, - and _")
	}
	return credential{apiKey: seal.NewSecret(key)}, nil
}

// parseCredentialJSON parses a credential that is a JSON object. A token_uri
// must be https, or the same origin as base, which the operator configured: the
// signed assertion is sent there.
func parseCredentialJSON(text string, base *url.URL) (credential, error) {
	var o struct {
		APIKey       string `json:"api_key"`
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKey   string `json:"private_key"`
		PrivateKeyID string `json:"private_key_id"`
		TokenURI     string `json:"token_uri"`
	}
	if json.Unmarshal([]byte(text), &o) != nil { // the error is dropped, since it would quote the credential
		return credential{}, errors.New("it is not valid JSON, or a member is not a text: copy the file's contents whole")
	}
	switch {
	case o.APIKey != "":
		return newAPIKey(o.APIKey)
	case o.Type != "" && o.Type != "service_account":
		return credential{}, errors.New(`its type must be "service_account": create a key for a service account in the Google Cloud console`)
	case o.ClientEmail == "" || o.PrivateKey == "":
		return credential{}, errors.New("client_email and private_key are missing: use the unchanged key file of a service account")
	}
	if o.TokenURI == "" {
		o.TokenURI = defaultTokenURI
	}
	u, err := url.Parse(o.TokenURI)
	if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "https" && (u.Scheme != base.Scheme || u.Host != base.Host)) {
		return credential{}, errors.New("its token_uri must be an https URL, unchanged from Google's key file")
	}
	return credential{account: &serviceAccount{
		email: o.ClientEmail, keyID: o.PrivateKeyID, tokenURI: o.TokenURI,
		key: seal.NewSecret(o.PrivateKey), digest: sha256.Sum256([]byte(text)),
	}}, nil
}

// parseKey parses the private key, in PKCS #8 or PKCS #1 form.
func (a *serviceAccount) parseKey() (*rsa.PrivateKey, error) {
	bad := errors.New("its private_key is not an RSA key in PEM form: copy the file's contents whole, with the \\n in the key")
	block, _ := pem.Decode([]byte(a.key.Reveal()))
	if block == nil {
		return nil, bad
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if key, ok := key.(*rsa.PrivateKey); ok {
			return key, nil
		}
		return nil, bad
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, bad
	}
	return key, nil
}

// newCredentialError is the error for a malformed credential: about the
// argument, or about the one that the operator stored.
func newCredentialError(why error, stored bool) error {
	if stored {
		return junctor.Errorf(junctor.CodeUpstream, "the credential %s that is stored for server %s cannot be used: %s; the operator must store another", VisionCredential, ID, why.Error())
	}
	return newArgumentError(junctor.CodeInvalid, argCredentials, why.Error())
}
