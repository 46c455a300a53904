package junctor_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"

	"pgregory.net/rapid"
)

func webhookHeader(id string, at time.Time, signature string) http.Header {
	h := http.Header{}
	h.Set(junctor.HeaderWebhookID, id)
	h.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(junctor.HeaderWebhookSignature, signature)
	return h
}

// The example of the scheme's own description.
func TestWebhookKnownSignature(t *testing.T) {
	t.Parallel()
	at := time.Unix(1614265330, 0)
	got := junctor.SignWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWebhookSignatures(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	body, id := []byte(`{"a":1}`), "msg_1"
	good := junctor.SignWebhook("old", id, now, body)
	signed := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(id+"."+strconv.FormatInt(now.Unix(), 10)+"."+string(body))))
	whpk := "whpk_" + base64.StdEncoding.EncodeToString(public)
	for name, c := range map[string]struct {
		secrets []string
		header  http.Header
		body    string
		fine    bool
	}{
		"the right secret":                 {[]string{"old"}, webhookHeader(id, now, good), `{"a":1}`, true},
		"one of two secrets":               {[]string{"new", "old"}, webhookHeader(id, now, good), `{"a":1}`, true},
		"one of two signatures":            {[]string{"old"}, webhookHeader(id, now, "v1,AAAA v2,x "+good), `{"a":1}`, true},
		"a public key":                     {[]string{whpk}, webhookHeader(id, now, signed), `{"a":1}`, true},
		"another secret":                   {[]string{"new"}, webhookHeader(id, now, good), `{"a":1}`, false},
		"no secret":                        {[]string{""}, webhookHeader(id, now, junctor.SignWebhook("", id, now, body)), `{"a":1}`, false},
		"a public key used as a secret":    {[]string{whpk}, webhookHeader(id, now, junctor.SignWebhook(whpk, id, now, body)), `{"a":1}`, false},
		"another body":                     {[]string{"old"}, webhookHeader(id, now, good), `{"a":2}`, false},
		"another id":                       {[]string{"old"}, webhookHeader("msg_2", now, good), `{"a":1}`, false},
		"too old":                          {[]string{"old"}, webhookHeader(id, now.Add(-6*time.Minute), junctor.SignWebhook("old", id, now.Add(-6*time.Minute), body)), `{"a":1}`, false},
		"from the future":                  {[]string{"old"}, webhookHeader(id, now.Add(6*time.Minute), junctor.SignWebhook("old", id, now.Add(6*time.Minute), body)), `{"a":1}`, false},
		"no headers":                       {[]string{"old"}, http.Header{}, `{"a":1}`, false},
		"a version that nobody knows":      {[]string{"old"}, webhookHeader(id, now, "v9"+good[2:]), `{"a":1}`, false},
		"an hmac passed off as a key's":    {[]string{whpk}, webhookHeader(id, now, "v1a"+good[2:]), `{"a":1}`, false},
		"a time that is no number":         {[]string{"old"}, http.Header{"Webhook-Id": {"x"}, "Webhook-Timestamp": {"soon"}, "Webhook-Signature": {good}}, `{"a":1}`, false},
		"signature with nothing behind it": {[]string{"old"}, webhookHeader(id, now, "v1,"), `{"a":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := junctor.VerifyWebhook(c.secrets, c.header, []byte(c.body), now)
			if (err == nil) != c.fine || c.fine && got != id {
				t.Errorf("id %q, error %v", got, err)
			}
		})
	}
}

func TestWebhookRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(1, 40, 80).Draw(t, "secret")
		id := rapid.StringMatching(`[a-z0-9_.]{1,40}`).Draw(t, "id")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		at := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0)
		h := webhookHeader(id, at, junctor.SignWebhook(secret, id, at, body))
		if got, when, err := junctor.VerifyWebhook([]string{secret}, h, body, at); err != nil || got != id || !when.Equal(at) {
			t.Fatalf("%q %v %v", got, when, err)
		}
		if _, _, err := junctor.VerifyWebhook([]string{secret}, h, append(body, 'x'), at); err == nil {
			t.Fatal("a body that was changed passes")
		}
	})
}

func FuzzVerifyWebhook(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	f.Add("s", "1800000000", "v1,AAAA", "id", []byte("{}"))
	f.Add("whsec_!", "1800000000", "v1a,AAAA v1,", "", []byte(nil))
	f.Add("whpk_AAAA", "-9223372036854775808", ",,, ,", "i", []byte("x"))
	f.Fuzz(func(t *testing.T, secret, stamp, signature, id string, body []byte) {
		h := http.Header{}
		h.Set(junctor.HeaderWebhookID, id)
		h.Set(junctor.HeaderWebhookTimestamp, stamp)
		h.Set(junctor.HeaderWebhookSignature, signature)
		if _, _, err := junctor.VerifyWebhook([]string{secret + "unknown"}, h, body, now); err == nil {
			t.Errorf("accepted %q for a secret that nobody has", signature)
		}
	})
}
