package intake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// signedMessage is what a signed request says about itself.
type signedMessage struct {
	dedupeKey    string // recognises a repetition
	eventType    string // "" if the style has no type
	typeUnsigned bool   // the type comes from a header, which the signature does not cover
}

// DefaultHeader is the header of the signature in the style hmac.
const DefaultHeader = "X-Signature-256"

// verifyMessage checks the signature of a request with the secrets of its
// source, and returns what the style says about the message. An error is
// unauthenticated, or invalid for a signed message that makes no sense.
func verifyMessage(src *junctor.Source, secrets []string, h http.Header, body []byte, now time.Time) (signedMessage, error) {
	switch src.Style {
	case junctor.StyleStandard:
		if !hasStandardHeaders(h, now) {
			spendTime(secrets, body)
			return signedMessage{}, signatureError()
		}
		id, _, err := junctor.VerifyWebhook(secrets, h, body, now)
		return signedMessage{dedupeKey: id, eventType: bodyField(body, "type")}, err
	case junctor.StyleGitHub:
		if !verifyBody(secrets, h.Get("X-Hub-Signature-256"), body) {
			return signedMessage{}, signatureError()
		}
		return readGitHubMessage(h, body)
	case junctor.StyleStripe:
		if err := verifyStripe(secrets, h.Get("Stripe-Signature"), body, now); err != nil {
			return signedMessage{}, err
		}
		m := signedMessage{dedupeKey: bodyField(body, "id"), eventType: bodyField(body, "type")}
		if m.dedupeKey == "" {
			return signedMessage{}, junctor.Errorf(junctor.CodeInvalid, "the message has no ID")
		}
		return m, nil
	case junctor.StyleHMAC:
		header := src.Header
		if header == "" {
			header = DefaultHeader
		}
		if !verifyBody(secrets, h.Get(header), body) {
			return signedMessage{}, signatureError()
		}
		return signedMessage{dedupeKey: bodyKey(body), eventType: bodyField(body, "type")}, nil
	case junctor.StyleRedis, junctor.StyleStream: // they have no endpoint
	}
	spendTime(secrets, body)
	return signedMessage{}, signatureError()
}

// bodyKey returns a dedupe key of the body. A key in a header is not signed:
// anyone who saw a message could repeat it with another key.
func bodyKey(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// hasStandardHeaders reports whether a request has the headers of Standard
// Webhooks and a recent timestamp.
func hasStandardHeaders(h http.Header, now time.Time) bool {
	_, err := junctor.WebhookTime(h.Get(junctor.HeaderWebhookTimestamp), now)
	return err == nil && h.Get(junctor.HeaderWebhookID) != "" && h.Get(junctor.HeaderWebhookSignature) != ""
}

// spendTime takes as long as checking a signature. The duration of a refusal
// must not reveal whether a source exists, or which style it has.
func spendTime(secrets []string, body []byte) { matchesSignature(secrets, nil, body) }

// signatureError is the one answer to all messages without a valid signature.
func signatureError() error {
	return junctor.Errorf(junctor.CodeUnauthenticated, "the signature is invalid")
}

// verifyBody checks an HMAC-SHA256 of the body, in hex or base64, with or
// without the prefix sha256=.
func verifyBody(secrets []string, signature string, body []byte) bool {
	signature = strings.TrimPrefix(strings.TrimSpace(signature), "sha256=")
	given, err := hex.DecodeString(signature)
	if err != nil {
		given, err = base64.StdEncoding.DecodeString(signature)
	}
	if err != nil {
		given = nil // never equal to a signature
	}
	return matchesSignature(secrets, [][]byte{given}, body)
}

// matchesSignature reports whether one of the signatures was made with one of
// the secrets. It takes the same time in both cases.
func matchesSignature(secrets []string, signatures [][]byte, parts ...[]byte) bool {
	found := false
	for _, secret := range secrets {
		// Never accept a signature that was made with an empty or trivial
		// secret.
		if junctor.CheckSigningSecret(secret) != nil {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		for _, p := range parts {
			mac.Write(p)
		}
		sum := mac.Sum(nil)
		for _, given := range signatures {
			found = hmac.Equal(given, sum) || found
		}
	}
	return found
}

// verifyStripe checks a header of the form t=seconds,v1=hex,v1=hex.
func verifyStripe(secrets []string, header string, body []byte, now time.Time) error {
	var stamp string
	var signatures [][]byte
	for one := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(one), "=")
		switch name {
		case "t":
			stamp = value
		case "v1":
			if given, err := hex.DecodeString(value); err == nil && len(signatures) < maxSignatures {
				signatures = append(signatures, given)
			}
		}
	}
	if stamp == "" || len(signatures) == 0 {
		spendTime(secrets, body)
		return junctor.Errorf(junctor.CodeUnauthenticated, "the header Stripe-Signature must have the form t=…,v1=…")
	}
	if _, err := junctor.WebhookTime(stamp, now); err != nil {
		spendTime(secrets, body)
		return err
	}
	if !matchesSignature(secrets, signatures, []byte(stamp+"."), body) {
		return signatureError()
	}
	return nil
}

// maxSignatures bounds the signatures of a message that are checked.
const maxSignatures = 8

// bodyField returns a string member of the body; "" if there is none.
func bodyField(body []byte, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}
