package intake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func mac(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

const first, second = "the first secret of a test", "the second secret of a test"

func TestStyles(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	stamp := strconv.FormatInt(now.Unix(), 10)
	old := strconv.FormatInt(now.Add(-time.Hour).Unix(), 10)
	const body = `{"id":"evt_1","type":"charge.failed","action":"opened"}`
	sum := sha256.Sum256([]byte(body))
	github := func(secret string) http.Header {
		return http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac(secret, body))}, "X-Github-Delivery": {"guid"}, "X-Github-Event": {"sponsorship"}}
	}
	stripe := func(stamp, signatures string) http.Header {
		return http.Header{"Stripe-Signature": {"t=" + stamp + signatures}}
	}
	good := ",v1=" + hex.EncodeToString(mac(second, stamp+"."+body))
	for name, c := range map[string]struct {
		source junctor.Source
		header http.Header
		want   signedMessage
		code   junctor.Code
	}{
		"github":                             {junctor.Source{Style: junctor.StyleGitHub}, github(first), signedMessage{dedupeKey: hex.EncodeToString(sum[:]), eventType: "sponsorship.opened", typeUnsigned: true}, ""},
		"github, another secret":             {junctor.Source{Style: junctor.StyleGitHub}, github("somebody else's secret"), signedMessage{}, junctor.CodeUnauthenticated},
		"github, no signature":               {junctor.Source{Style: junctor.StyleGitHub}, http.Header{}, signedMessage{}, junctor.CodeUnauthenticated},
		"github, no event":                   {junctor.Source{Style: junctor.StyleGitHub}, http.Header{"X-Hub-Signature-256": github(first)["X-Hub-Signature-256"]}, signedMessage{}, junctor.CodeInvalid},
		"stripe, the second secret":          {junctor.Source{Style: junctor.StyleStripe}, stripe(stamp, good), signedMessage{dedupeKey: "evt_1", eventType: "charge.failed"}, ""},
		"stripe, the second signature":       {junctor.Source{Style: junctor.StyleStripe}, stripe(stamp, ",v1=00,v0=11"+good), signedMessage{dedupeKey: "evt_1", eventType: "charge.failed"}, ""},
		"stripe, signed long ago":            {junctor.Source{Style: junctor.StyleStripe}, stripe(old, ",v1="+hex.EncodeToString(mac(first, old+"."+body))), signedMessage{}, junctor.CodeUnauthenticated},
		"stripe, another time":               {junctor.Source{Style: junctor.StyleStripe}, stripe(strconv.FormatInt(now.Unix()+1, 10), good), signedMessage{}, junctor.CodeUnauthenticated},
		"stripe, nothing signed":             {junctor.Source{Style: junctor.StyleStripe}, stripe(stamp, ""), signedMessage{}, junctor.CodeUnauthenticated},
		"hmac in hex":                        {junctor.Source{Style: junctor.StyleHMAC}, http.Header{"X-Signature-256": {hex.EncodeToString(mac(first, body))}}, signedMessage{dedupeKey: hex.EncodeToString(sum[:]), eventType: "charge.failed"}, ""},
		"hmac in base64, in its own header":  {junctor.Source{Style: junctor.StyleHMAC, Header: "X-Own"}, http.Header{"X-Own": {base64.StdEncoding.EncodeToString(mac(first, body))}}, signedMessage{dedupeKey: hex.EncodeToString(sum[:]), eventType: "charge.failed"}, ""},
		"hmac, in another header":            {junctor.Source{Style: junctor.StyleHMAC, Header: "X-Own"}, http.Header{"X-Signature-256": {hex.EncodeToString(mac(first, body))}}, signedMessage{}, junctor.CodeUnauthenticated},
		"hmac with an empty secret":          {junctor.Source{Style: junctor.StyleHMAC}, http.Header{"X-Signature-256": {hex.EncodeToString(mac("", body))}}, signedMessage{}, junctor.CodeUnauthenticated},
		"a source that is taken from itself": {junctor.Source{Style: junctor.StyleRedis}, http.Header{"X-Signature-256": {hex.EncodeToString(mac(first, body))}}, signedMessage{}, junctor.CodeUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := verifyMessage(&c.source, []string{first, second, ""}, c.header, []byte(body), now)
			if junctor.CodeOf(err) != c.code || c.code == "" && got != c.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("t=1800000000,v1=00", []byte(`{"id":"x"}`))
	f.Add("sha256=", []byte(`[`))
	f.Add("t=,v1=,=,", []byte(nil))
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, signature string, body []byte) {
		h := http.Header{"Stripe-Signature": {signature}, "X-Hub-Signature-256": {signature}, "X-Signature-256": {signature}, "Webhook-Signature": {signature}, "Webhook-Id": {"x"}, "Webhook-Timestamp": {"1800000000"}}
		for _, style := range junctor.SourceStyles() {
			if _, err := verifyMessage(&junctor.Source{Style: style}, []string{"a secret that the fuzzer has not"}, h, body, now); err == nil {
				t.Errorf("%s takes %q", style, signature)
			}
		}
	})
}
