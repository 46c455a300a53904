package junctor

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a message that is signed as Standard Webhooks says.
const (
	HeaderWebhookID        = "webhook-id"
	HeaderWebhookTimestamp = "webhook-timestamp"
	HeaderWebhookSignature = "webhook-signature"
)

// WebhookTolerance is how far the clocks of sender and receiver may be apart.
const WebhookTolerance = 5 * time.Minute

// SignWebhook gives the value of HeaderWebhookSignature for a message: an HMAC
// over its id, its time and its bytes. The secret is whsec_ and base64, or any
// other text, which is then the key itself. With a secret that CheckWebhookSecret
// refuses, or a public key, nothing can be signed: the value is "".
func SignWebhook(secret, id string, at time.Time, body []byte) string {
	key, public, err := webhookKey(secret)
	if err != nil || public {
		return ""
	}
	mac := webhookMAC(key, id, strconv.FormatInt(at.Unix(), 10), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac)
}

// VerifyWebhook checks a message that is signed as Standard Webhooks says, and
// gives its id. One of the secrets must fit one of its signatures; a secret that
// begins with whpk_ is the public key of a sender that signs with ed25519. Secrets
// that CheckWebhookSecret refuses are not used. now bounds the message's age.
func VerifyWebhook(secrets []string, h http.Header, body []byte, now time.Time) (id string, at time.Time, err error) {
	id, stamp := h.Get(HeaderWebhookID), h.Get(HeaderWebhookTimestamp)
	if id == "" || stamp == "" || h.Get(HeaderWebhookSignature) == "" {
		return "", time.Time{}, Errorf(CodeUnauthenticated, "the headers %s, %s and %s are required", HeaderWebhookID, HeaderWebhookTimestamp, HeaderWebhookSignature)
	}
	if at, err = WebhookTime(stamp, now); err != nil {
		return "", time.Time{}, err
	}
	for _, secret := range secrets {
		if !webhookFits(secret, h.Get(HeaderWebhookSignature), id, stamp, body) {
			continue
		}
		// Only a sender who has the secret learns more than that no signature is valid.
		if len(id) > maxWebhookID {
			return "", time.Time{}, Errorf(CodeInvalid, "%s has more than %d characters", HeaderWebhookID, maxWebhookID)
		}
		return id, at, nil
	}
	return "", time.Time{}, Errorf(CodeUnauthenticated, "no signature is valid")
}

const (
	// maxWebhookID bounds what is kept to know a message again.
	maxWebhookID = 256
	// maxWebhookSignatures is how many signatures of a message are looked at: a sender
	// that rotates its keys sends a few.
	maxWebhookSignatures = 8
)

// WebhookTime reads the seconds at which a message was signed, and refuses one
// that is too old or not yet.
func WebhookTime(stamp string, now time.Time) (time.Time, error) {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	at := time.Unix(seconds, 0)
	if err != nil || at.Before(now.Add(-WebhookTolerance)) || at.After(now.Add(WebhookTolerance)) {
		return time.Time{}, Errorf(CodeUnauthenticated, "the message was not signed within the last %s; check the clocks of both sides", WebhookTolerance)
	}
	return at, nil
}

// webhookFits reports whether one of the signatures fits the secret. An invalid
// secret fits none. It compares in constant time and looks at no more than
// maxWebhookSignatures, because the header comes from an unauthenticated
// sender.
func webhookFits(secret, signatures, id, stamp string, body []byte) bool {
	key, public, err := webhookKey(secret)
	if err != nil {
		return false
	}
	var mac []byte
	if !public {
		mac = webhookMAC(key, id, stamp, body) // once, however many signatures there are
	}
	looked := 0
	for one := range strings.FieldsSeq(signatures) {
		if looked++; looked > maxWebhookSignatures {
			break
		}
		version, text, _ := strings.Cut(one, ",")
		given, err := base64.StdEncoding.DecodeString(text)
		switch {
		case err != nil:
		case version == "v1" && !public && hmac.Equal(given, mac):
			return true
		case version == "v1a" && public && ed25519.Verify(key, webhookContent(id, stamp, body), given):
			return true
		}
	}
	return false
}

func webhookMAC(key []byte, id, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(webhookContent(id, stamp, body))
	return mac.Sum(nil)
}

func webhookContent(id, stamp string, body []byte) []byte {
	return append([]byte(id+"."+stamp+"."), body...)
}
