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
	key string // knows it again
	typ string // "" where the style has no place for it
}

// DefaultHeader is where the style hmac looks for a signature.
const DefaultHeader = "X-Signature-256"

// verify checks that a request is of the source, by one of its secrets, and gives
// what the style says of it. Each error is unauthenticated, or invalid for what is
// signed and makes no sense.
func verify(src *junctor.Source, secrets []string, h http.Header, body []byte, now time.Time) (message, error) {
	switch src.Style {
	case junctor.StyleStandard:
		id, _, err := junctor.VerifyWebhook(secrets, h, body, now)
		return message{key: id, typ: bodyField(body, "type")}, err
	case junctor.StyleGitHub:
		if !signedBody(secrets, h.Get("X-Hub-Signature-256"), body) {
			return message{}, refused()
		}
		m := message{key: h.Get("X-GitHub-Delivery"), typ: h.Get("X-GitHub-Event")}
		if m.key == "" || m.typ == "" {
			return message{}, junctor.Errorf(junctor.CodeInvalid, "the headers X-GitHub-Delivery and X-GitHub-Event are needed")
		}
		if action := bodyField(body, "action"); action != "" {
			m.typ += "." + action
		}
		return m, nil
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
		// A key in a header is not signed: one who saw a message could send it again
		// under another. The bytes are.
		sum := sha256.Sum256(body)
		return message{key: hex.EncodeToString(sum[:]), typ: bodyField(body, "type")}, nil
	case junctor.StyleRedis, junctor.StyleStream: // they have no door
	}
	return message{}, refused()
}

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
	return err == nil && fits(secrets, given, body)
}

func fits(secrets []string, given []byte, parts ...[]byte) bool {
	found := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		for _, p := range parts {
			mac.Write(p)
		}
		found = found || secret != "" && hmac.Equal(given, mac.Sum(nil))
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
			if given, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, given)
			}
		}
	}
	if stamp == "" || len(signatures) == 0 {
		return junctor.Errorf(junctor.CodeUnauthenticated, "the header Stripe-Signature is needed, as t=…,v1=…")
	}
	if _, err := junctor.WebhookTime(stamp, now); err != nil {
		return err
	}
	for _, given := range signatures {
		if fits(secrets, given, []byte(stamp+"."), body) {
			return nil
		}
	}
	return refused()
}

// bodyField is a text of the body; "" where it has none of that name.
func bodyField(body []byte, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &members) == nil {
		_ = json.Unmarshal(members[name], &text)
	}
	return text
}
