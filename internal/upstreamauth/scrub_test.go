package upstreamauth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

func TestScrubber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=&<>"%._~ é-]{6,40}`).Draw(t, "secret")
		other := rapid.StringMatching(`[A-Za-z0-9]{6,12}`).Draw(t, "other")
		s := seal.NewScrubber(secret, other, "short")
		quoted, _ := json.Marshal(secret)
		form := rapid.SampledFrom([]string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)), string(quoted[1 : len(quoted)-1]),
		}).Draw(t, "form")
		got := s.Scrub("§ " + form + " §")
		if strings.Contains(got, form) || !strings.HasPrefix(got, "§ ") || !strings.HasSuffix(got, " §") {
			t.Fatalf("%q in %q became %q", secret, form, got)
		}
		if got := s.Scrub("a short text"); got != "a short text" {
			t.Fatalf("%q", got)
		}
	})
}

func TestScrubberOfARequest(t *testing.T) {
	t.Parallel()
	s := seal.ScrubberForRequest(http.Header{
		"Authorization": {"Bearer token-of-mine"}, "X-Key": {"key-of-mine"}, "Proxy": {"Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass-of-mine"))},
	}, "a=one%2Bvalue&two%26more&x=y")
	for _, text := range []string{"token-of-mine", "key-of-mine", "pass-of-mine", "one+value", "one%2Bvalue", "two&more", "Bearer token-of-mine"} {
		if got := s.Scrub("<" + text + ">"); got != "<"+junctor.Masked+">" && got != "<Bearer "+junctor.Masked+">" {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// A source knows what was made of its credentials, too.
func TestSourceKnowsWhatItSent(t *testing.T) {
	t.Parallel()
	c, set := upstreamauth.SplitLiterals(junctor.Connection{
		Transport: junctor.TransportHTTP, URL: "https://x/?key=" + url.QueryEscape("a query+value"),
		Auth: &junctor.Auth{Type: junctor.AuthBasic, Secret: canary, Username: "me"},
	})
	source := upstreamauth.NewSource(admitted(c), upstreamauth.StaticLiterals(set), reader(t), nil)
	if source.Scrub(canary) != canary {
		t.Error("it knows what it never gave")
	}
	h, err := source.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.URL(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, pair, _ := strings.Cut(h.Get("Authorization"), " ")
	for _, text := range []string{canary, pair, "a query+value", url.QueryEscape("a query+value")} {
		if got := source.Scrub(text); got != junctor.Masked {
			t.Errorf("%s became %s", text, got)
		}
	}
	if len(source.Secrets()) < 3 {
		t.Errorf("%d secrets", len(source.Secrets()))
	}
}
