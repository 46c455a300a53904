package signin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// TestBehindAProxy signs in as people do through a proxy with TLS: cookies are
// for TLS alone, and it is the person's address that counts.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, testkit.Settings{"public-url": "https://junctor.example.com", "trusted-proxy": "127.0.0.1"})
	sent := func(form url.Values, header ...string) testkit.Reply {
		t.Helper()
		return i.Do(t, "POST", "/login", form.Encode(), append(header, "Authorization:", "Content-Type: application/x-www-form-urlencoded",
			"Host: 127.0.0.1:1", "X-Forwarded-Host: junctor.example.com", "X-Forwarded-Proto: https", "Origin: https://junctor.example.com")...)
	}
	wrong := url.Values{"name": {"ann"}, "password": {"wrong"}}
	if r := sent(wrong, "X-Forwarded-For: 6.6.6.6, 198.51.100.7"); r.Status != 401 || !strings.Contains(i.Log.String(), "from=198.51.100.7") {
		t.Errorf("%d %s\n%s", r.Status, r.Body, i.Log)
	}
	object(t, i, "POST", "/users", `{"name":"ann","role":"viewer"}`, 201)
	link := object(t, i, "POST", "/users/ann/link", "", 200).URL
	at, err := url.Parse(link)
	if err != nil || at.Scheme != "https" || at.Host != "junctor.example.com" {
		t.Fatalf("the link is %s", link)
	}
	r := sent(url.Values{"token": {at.Query().Get("token")}})
	cookie := r.Header.Get("Set-Cookie")
	if r.Status != 200 || !strings.HasPrefix(cookie, "__Host-junctor-session=") || !strings.Contains(cookie, "; Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("%d %q", r.Status, cookie)
	}
	if r.Header.Get("Strict-Transport-Security") == "" {
		t.Error("the browser is not told to come by https alone")
	}
}
