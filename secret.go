package junctor

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// MinSigningSecret is the least length of a signing secret in bytes, without a
// prefix and after decoding.
const MinSigningSecret = 16

// The prefixes of keys in Standard Webhooks.
const (
	prefixSecret  = "whsec_" // shared by sender and receiver
	prefixPublic  = "whpk_"
	prefixPrivate = "whsk_"
)

// CheckWebhookSecret returns an error if secret is not a valid secret of
// Standard Webhooks: whsec_ and base64, whpk_ and the base64 of an ed25519
// public key, or any other text of at least MinSigningSecret bytes. The error
// does not repeat the secret.
func CheckWebhookSecret(secret string) error {
	_, _, err := webhookKey(secret)
	return err
}

// CheckSigningSecret returns an error if secret, as entered, is not a valid
// HMAC key. The error does not repeat the secret.
func CheckSigningSecret(secret string) error {
	if err := checkNotPublic(secret); err != nil {
		return err
	}
	if hasPrefixFold(secret, prefixPublic) {
		return Errorf(CodeInvalid, "secret: this is a public key (%s); only the style standard accepts a public key", prefixPublic)
	}
	return checkLength(strings.TrimPrefix(secret, prefixSecret))
}

// webhookKey decodes a secret. public is whether it is a public key; otherwise
// it is the key of an HMAC.
func webhookKey(secret string) (key []byte, public bool, err error) {
	if err := checkNotPublic(secret); err != nil {
		return nil, false, err
	}
	switch {
	case hasPrefixFold(secret, prefixPublic):
		// A mistyped public key must never become an HMAC key: everybody knows
		// it.
		text, exact := strings.CutPrefix(secret, prefixPublic)
		key, err := base64.StdEncoding.DecodeString(text)
		if !exact || err != nil || len(key) != ed25519.PublicKeySize {
			return nil, false, Errorf(CodeInvalid, "secret: the text after %s must be padded base64 of %d bytes", prefixPublic, ed25519.PublicKeySize)
		}
		if forgeable(key) {
			return nil, false, Errorf(CodeInvalid, "secret: the public key after %s is insecure, because anybody can forge its signatures; use another key", prefixPublic)
		}
		return key, true, nil
	case hasPrefixFold(secret, prefixSecret):
		text, exact := strings.CutPrefix(secret, prefixSecret)
		key, err := base64.StdEncoding.DecodeString(text)
		if !exact || err != nil {
			return nil, false, Errorf(CodeInvalid, "secret: the text after %s must be padded base64", prefixSecret)
		}
		return key, false, checkLength(string(key))
	}
	return []byte(secret), false, checkLength(secret)
}

// checkNotPublic returns an error for forms of keys that are never a shared
// secret, such as key files and the private key of a sender.
func checkNotPublic(secret string) error {
	switch {
	case strings.TrimSpace(secret) == "":
		return Errorf(CodeInvalid, "secret is empty")
	case strings.TrimSpace(secret) != secret:
		return Errorf(CodeInvalid, "secret has leading or trailing spaces or line breaks; remove them")
	case hasPrefixFold(secret, prefixPrivate):
		return Errorf(CodeInvalid, "secret: %s is the sender's private key; enter the public key, which begins with %s", prefixPrivate, prefixPublic)
	case strings.Contains(secret, "-----BEGIN ") || hasPrefixFold(secret, "ssh-"):
		return Errorf(CodeInvalid, "secret: this is a key file; enter a shared secret, or with the style standard a public key as %s and base64", prefixPublic)
	}
	return nil
}

func checkLength(key string) error {
	if len(strings.TrimSpace(key)) < MinSigningSecret {
		return Errorf(CodeInvalid, "secret: the decoded secret has fewer than %d bytes; create one with openssl rand -base64 24", MinSigningSecret)
	}
	return nil
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// forgeable reports whether a public key is a point of small order, such as one
// of zeros. Anybody can make signatures that such a key verifies.
func forgeable(public ed25519.PublicKey) bool {
	y := slices.Clone(public)
	y[len(y)-1] &= 0x7f // the sign of x
	return slices.Contains([]string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	}, hex.EncodeToString(y))
}
