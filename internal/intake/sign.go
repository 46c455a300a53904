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

// message is what a signed request says of itself.
type message struct {
	key      string // knows it again
	typ      string // "" where the style has no place for it
	unsigned bool   // the type is of a header that no signature covers
}

// DefaultHeader is where the style hmac looks for a signature.
const DefaultHeader = "X-Signature-256"

// verify checks that a request is of the source, by one of its secrets, and gives
// what the style says of it. Each error is unauthenticated, or invalid for what is
// signed and makes no sense.
func verify(src *junctor.Source, secrets []string, h http.Header, body []byte, now time.Time) (message, error) {
	switch src.Style {
	case junctor.StyleStandard:
		if !standardHeaders(h, now) {
			spend(secrets, body)
			return message{}, refused()
		}
		id, _, err := junctor.VerifyWebhook(secrets, h, body, now)
		return message{key: id, typ: bodyField(body, "type")}, err
	case junctor.StyleGitHub:
		if !signedBody(secrets, h.Get("X-Hub-Signature-256"), body) {
			return message{}, refused()
		}
		return githubMessage(h, body)
	case junctor.StyleStripe:
		if err := verifyStripe(secrets, h.Get("Stripe-Signature"), body, now); err != nil {
			return message{}, err
		}
		m := message{key: bodyField(body, "id"), typ: bodyField(body, "type")}
		if m.key == "" {
			return message{}, junctor.Errorf(junctor.CodeInvalid, "the message has no id")
		}
		return m, nil
	case junctor.StyleHMAC:
		header := src.Header
		if header == "" {
			header = DefaultHeader
		}
		if !signedBody(secrets, h.Get(header), body) {
			return message{}, refused()
		}
		return message{key: bodyKey(body), typ: bodyField(body, "type")}, nil
	case junctor.StyleRedis, junctor.StyleStream: // they have no door
	}
	spend(secrets, body)
	return message{}, refused()
}

// bodyKey knows a message again by its bytes. A key in a header is not signed: one
// who saw a message could send it again under another.
func bodyKey(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// standardHeaders says whether there is anything to check a signature for.
func standardHeaders(h http.Header, now time.Time) bool {
	_, err := junctor.WebhookTime(h.Get(junctor.HeaderWebhookTimestamp), now)
	return err == nil && h.Get(junctor.HeaderWebhookID) != "" && h.Get(junctor.HeaderWebhookSignature) != ""
}

// spend takes as long as checking a signature: how long a refusal takes must not
// tell whether there is such a source, or of which style it is.
func spend(secrets []string, body []byte) { fits(secrets, nil, body) }

func refused() error {
	return junctor.Errorf(junctor.CodeUnauthenticated, "no signature fits")
}

// signedBody compares HMAC-SHA256 of the body with a signature in hex or base64,
// which may have sha256= in front.
func signedBody(secrets []string, signature string, body []byte) bool {
	signature = strings.TrimPrefix(strings.TrimSpace(signature), "sha256=")
	given, err := hex.DecodeString(signature)
	if err != nil {
		given, err = base64.StdEncoding.DecodeString(signature)
	}
	if err != nil {
		given = nil // which fits nothing
	}
	return fits(secrets, [][]byte{given}, body)
}

// fits says whether one of the signatures is made with one of the secrets. It
// takes as long whether or not.
func fits(secrets []string, signatures [][]byte, parts ...[]byte) bool {
	found := false
	for _, secret := range secrets {
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

// verifyStripe reads t=seconds,v1=hex,v1=hex.
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
		spend(secrets, body)
		return junctor.Errorf(junctor.CodeUnauthenticated, "the header Stripe-Signature is needed, as t=…,v1=…")
	}
	if _, err := junctor.WebhookTime(stamp, now); err != nil {
		spend(secrets, body)
		return err
	}
	if !fits(secrets, signatures, []byte(stamp+"."), body) {
		return refused()
	}
	return nil
}

// maxSignatures is how many signatures of a message are looked at.
const maxSignatures = 8

// bodyField is a text of the body; "" where it has none of that name.
func bodyField(body []byte, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}
