package junctor_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
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

const (
	oldSecret = "the old secret of a test"
	newSecret = "the new secret of a test"
)

func TestWebhookSignatures(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	body, id := []byte(`{"a":1}`), "msg_1"
	good := junctor.SignWebhook(oldSecret, id, now, body)
	signed := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(id+"."+strconv.FormatInt(now.Unix(), 10)+"."+string(body))))
	whpk := "whpk_" + base64.StdEncoding.EncodeToString(public)
	for name, c := range map[string]struct {
		secrets []string
		header  http.Header
		body    string
		fine    bool
	}{
		"the right secret":                 {[]string{oldSecret}, webhookHeader(id, now, good), `{"a":1}`, true},
		"one of two secrets":               {[]string{newSecret, oldSecret}, webhookHeader(id, now, good), `{"a":1}`, true},
		"one of two signatures":            {[]string{oldSecret}, webhookHeader(id, now, "v1,AAAA v2,x "+good), `{"a":1}`, true},
		"a public key":                     {[]string{whpk}, webhookHeader(id, now, signed), `{"a":1}`, true},
		"another secret":                   {[]string{newSecret}, webhookHeader(id, now, good), `{"a":1}`, false},
		"no secret":                        {[]string{""}, webhookHeader(id, now, junctor.SignWebhook("", id, now, body)), `{"a":1}`, false},
		"a public key used as a secret":    {[]string{whpk}, webhookHeader(id, now, junctor.SignWebhook(whpk, id, now, body)), `{"a":1}`, false},
		"another body":                     {[]string{oldSecret}, webhookHeader(id, now, good), `{"a":2}`, false},
		"another id":                       {[]string{oldSecret}, webhookHeader("msg_2", now, good), `{"a":1}`, false},
		"too old":                          {[]string{oldSecret}, webhookHeader(id, now.Add(-6*time.Minute), junctor.SignWebhook(oldSecret, id, now.Add(-6*time.Minute), body)), `{"a":1}`, false},
		"from the future":                  {[]string{oldSecret}, webhookHeader(id, now.Add(6*time.Minute), junctor.SignWebhook(oldSecret, id, now.Add(6*time.Minute), body)), `{"a":1}`, false},
		"no headers":                       {[]string{oldSecret}, http.Header{}, `{"a":1}`, false},
		"a version that nobody knows":      {[]string{oldSecret}, webhookHeader(id, now, "v9"+good[2:]), `{"a":1}`, false},
		"an hmac passed off as a key's":    {[]string{whpk}, webhookHeader(id, now, "v1a"+good[2:]), `{"a":1}`, false},
		"a time that is no number":         {[]string{oldSecret}, http.Header{"Webhook-Id": {"x"}, "Webhook-Timestamp": {"soon"}, "Webhook-Signature": {good}}, `{"a":1}`, false},
		"signature with nothing behind it": {[]string{oldSecret}, webhookHeader(id, now, "v1,"), `{"a":1}`, false},
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
		secret := rapid.StringN(16, 40, 160).Filter(func(s string) bool { return junctor.CheckWebhookSecret(s) == nil }).Draw(t, "secret")
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
		if _, _, err := junctor.VerifyWebhook([]string{secret + "unknown to everybody"}, h, body, now); err == nil {
			t.Errorf("accepted %q for a secret that nobody has", signature)
		}
	})
}

// A secret that anybody can know or guess is refused when it is entered, and
// never used where it was stored before.
func TestSecretsThatAreNone(t *testing.T) {
	t.Parallel()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	now := time.Unix(1_800_000_000, 0)
	stamp, body := strconv.FormatInt(now.Unix(), 10), []byte(`{"a":1}`)
	for name, c := range map[string]struct {
		secret          string
		webhook, signed bool // whether it is one for Standard Webhooks, for an HMAC
	}{
		"a long text":                      {"0123456789abcdef", true, true},
		"whsec_ of sixteen bytes":          {"whsec_" + encode([]byte("0123456789abcdef")), true, true},
		"whsec_ that is no base64":         {"whsec_0123456789abcdef!", false, true}, // as Stripe's are
		"a public key":                     {"whpk_" + encode(public), true, false},
		"a public key, cut":                {"whpk_" + encode(public[:31]), false, false},
		"a public key without its padding": {"whpk_" + base64.RawStdEncoding.EncodeToString(public), false, false},
		"a public key in capitals":         {"WHPK_" + encode(public), false, false},
		"a public key after a space":       {" whpk_" + encode(public), false, false},
		"a public key for URLs":            {"whpk_" + strings.Repeat("-_", 21) + "A=", false, false},
		"a public key of zeros":            {"whpk_" + encode(make([]byte, 32)), false, false},
		"the neutral public key":           {"whpk_" + encode(append([]byte{1}, make([]byte, 31)...)), false, false},
		"a private key":                    {"whsk_" + encode(make([]byte, 32)), false, false},
		"a key file":                       {"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----", false, false},
		"one byte":                         {"whsec_YQ==", false, false},
		"whsec_ of fifteen bytes":          {"whsec_" + encode([]byte("0123456789abcde")), false, true}, // its text has twenty
		"fifteen bytes":                    {"0123456789abcde", false, false},
		"nothing":                          {"", false, false},
		"nothing after whsec_":             {"whsec_", false, false},
		"blanks":                           {strings.Repeat(" ", 32), false, false},
	} {
		if err := junctor.CheckWebhookSecret(c.secret); (err == nil) != c.webhook {
			t.Errorf("%s for Standard Webhooks: %v", name, err)
		} else if err != nil && len(strings.TrimSpace(c.secret)) > 9 && strings.Contains(err.Error(), strings.TrimSpace(c.secret)) {
			t.Errorf("%s is repeated: %v", name, err)
		}
		if err := junctor.CheckSigningSecret(c.secret); (err == nil) != c.signed {
			t.Errorf("%s for an HMAC: %v", name, err)
		}
		if c.webhook {
			continue
		}
		keys := []string{c.secret}
		for _, prefix := range []string{"whsec_", "whpk_"} {
			text := strings.TrimPrefix(c.secret, prefix)
			if key, err := base64.StdEncoding.DecodeString(text); err == nil {
				keys = append(keys, text, string(key))
			}
		}
		for _, key := range keys {
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte("m1." + stamp + "." + string(body)))
			if _, _, err := junctor.VerifyWebhook([]string{c.secret}, webhookHeader("m1", now, "v1,"+encode(mac.Sum(nil))), body, now); err == nil {
				t.Errorf("%s is used as the key of an HMAC", name)
			}
		}
		if got := junctor.SignWebhook(c.secret, "m1", now, body); got != "" {
			t.Errorf("%s signs: %s", name, got)
		}
	}
}

// A public key for which a signature fits that was made without a private key is
// refused. The neutral point and zero are such a signature.
func TestForgeablePublicKeys(t *testing.T) {
	t.Parallel()
	forged := make([]byte, ed25519.SignatureSize)
	forged[0] = 1
	forgeable := func(public ed25519.PublicKey) bool {
		for i := range 256 {
			if ed25519.Verify(public, []byte(strconv.Itoa(i)), forged) {
				return true
			}
		}
		return false
	}
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		key, err := hex.DecodeString(text)
		if err != nil || !forgeable(key) {
			t.Fatalf("%s is no such key: %v", text, err)
		}
		if err := junctor.CheckWebhookSecret("whpk_" + base64.StdEncoding.EncodeToString(key)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
