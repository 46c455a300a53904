package signin_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// console is the name under which browsers know an instance on loopback.
func console(i *testkit.Instance) string {
	return "http://console.junctor.localhost:" + i.URL[strings.LastIndexByte(i.URL, ':')+1:]
}

// sessionCookie is the name of the cookie of a login.
func (b *browser) sessionCookie() string {
	return "__Host-junctor-session-" + b.home[strings.LastIndexByte(b.home, ':')+1:]
}

// browser keeps cookies as browsers do that take *.localhost for as safe as
// TLS, and says where its requests come from.
type browser struct {
	t       *testing.T
	home    string
	cookies map[string]*http.Cookie
	client  *http.Client
}

func newBrowser(t *testing.T, i *testkit.Instance) *browser {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, home: console(i), cookies: map[string]*http.Cookie{}, client: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends one request. header lines are "Name: value"; an empty value takes a
// header away.
func (b *browser) do(method, target string, form url.Values, header ...string) reply {
	b.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = b.home + target
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet {
		req.Header.Set("Origin", b.home)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); value == "" {
			req.Header.Del(name)
		} else {
			req.Header.Set(name, value)
		}
	}
	if strings.HasPrefix(target, b.home) {
		for _, c := range b.cookies {
			req.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

// me is who the admin API takes the browser for; "" for nobody.
func (b *browser) me() (me struct {
	Tenant, Issuer, User, Login string
	Person                      struct{ Name, Role, Sources string }
},
) {
	b.t.Helper()
	if r := b.do("GET", "/api/v1/me", nil); r.status == http.StatusOK {
		if err := json.Unmarshal([]byte(r.body), &me); err != nil {
			b.t.Fatal(err)
		}
	}
	return me
}

// provider goes to the identity provider and comes back, and gives the last
// answer.
func (b *browser) provider() reply {
	b.t.Helper()
	r := b.do("GET", b.start(), nil, "Sec-Fetch-Site: none")
	return b.do("GET", r.header.Get("Location"), nil, "Sec-Fetch-Site: cross-site")
}

// start begins at the sign-in page and gives where it leads.
func (b *browser) start() string {
	b.t.Helper()
	r := b.do("GET", "/login/oidc", nil)
	if r.status != http.StatusSeeOther {
		b.t.Fatalf("%d %s", r.status, r.body)
	}
	return r.header.Get("Location")
}

// fork is another window of the same browser at this moment.
func (b *browser) fork() *browser {
	other := *b
	other.cookies = maps.Clone(b.cookies)
	return &other
}

// object asks the admin API with the admin key.
func object(t *testing.T, i *testkit.Instance, method, path, body string, want int) (out struct {
	ID, Key, URL string
	AdminKey     struct{ Key string } `json:"admin_key"`
},
) {
	t.Helper()
	r := i.Do(t, method, "/api/v1"+path, body)
	if r.Status != want {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	if r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
