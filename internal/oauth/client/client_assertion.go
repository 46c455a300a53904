package client

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// assertionLife is how long a client assertion is valid. It is short, since it is
// used at once.
const assertionLife = 2 * time.Minute

// signAssertion returns a JWT with which a client authenticates by its private key
// (private_key_jwt, RFC 7523). It is valid for one audience, the issuer. key is in
// PEM.
func signAssertion(key, client, audience string, now time.Time) (string, error) {
	signer, alg, err := parsePrivateKey(key)
	if err != nil {
		return "", err
	}
	part := func(v any) string {
		text, _ := json.Marshal(v) //nolint:errchkjson // texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]string{"alg": alg, "typ": "JWT"}) + "." + part(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	signature, err := signText(signer, text)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "cannot sign with the client's private key: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// signText signs the text of a JWT.
func signText(key crypto.Signer, text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	switch k := key.(type) {
	case *ecdsa.PrivateKey: // JWS uses the two numbers and not ASN.1
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			return nil, err
		}
		out := make([]byte, 64)
		r.FillBytes(out[:32])
		s.FillBytes(out[32:])
		return out, nil
	case ed25519.PrivateKey:
		return k.Sign(nil, []byte(text), crypto.Hash(0))
	}
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// parsePrivateKey reads a private key in PEM and returns its JWS algorithm. It
// accepts RSA, P-256 and Ed25519.
func parsePrivateKey(text string) (crypto.Signer, string, error) {
	fault := func() (crypto.Signer, string, error) {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "the client's private key is invalid: enter an RSA, P-256 or Ed25519 key in PEM (PKCS #8)")
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return fault()
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return fault()
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, "RS256", nil
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return k, "ES256", nil
		}
	case ed25519.PrivateKey:
		return k, "EdDSA", nil
	}
	return fault()
}
