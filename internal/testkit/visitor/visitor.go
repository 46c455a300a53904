// Package visitor is a person with a browser, for tests: it signs in by a link,
// goes where pages lead, and says yes or no to programs. Only tests import it.
package visitor

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Visitor is one browser. It is for one goroutine.
type Visitor struct {
	t       testing.TB
	addr    string // of the instance, whatever its name
	cookies map[string]string
	lax     map[string]bool // cookies that a link from another site brings too
	client  *http.Client
}

// New opens a browser for the instance at a base address.
func New(t testing.TB, base string) *Visitor {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	v := &Visitor{t: t, addr: u.Host, cookies: map[string]string{}, lax: map[string]bool{}}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, v.addr) // only browsers know the name of the console
	}}
	v.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(transport.CloseIdleConnections)
	return v
}

// Page is what a browser shows.
type Page struct {
	Status int
	Header http.Header
	Body   string
	At     string // the address
}

// Do asks for one page, and goes no further. A form is posted. What the page was
// led to from is site: none, same-origin or cross-site, which brings only lax cookies.
func (v *Visitor) Do(method, address string, form url.Values, site string) Page {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", site)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+req.URL.Host)
	}
	for name, value := range v.cookies {
		if site != "cross-site" || method == http.MethodGet && v.lax[name] {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		v.lax[c.Name] = c.SameSite == http.SameSiteLaxMode
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	return Page{resp.StatusCode, resp.Header, string(body), address}
}

var refresh = regexp.MustCompile(`http-equiv="refresh" content="0;url=([^"]+)"`)

// leads is where a page leads by itself; "" where it stays.
func (p *Page) leads() string {
	to := p.Header.Get("Location")
	if found := refresh.FindStringSubmatch(p.Body); to == "" && found != nil {
		to = html.UnescapeString(found[1])
	}
	if to == "" {
		return ""
	}
	at, err := url.Parse(p.At)
	if err != nil {
		return ""
	}
	next, err := at.Parse(to)
	if err != nil {
		return ""
	}
	return next.String()
}

// Open goes to an address, as if a program had opened it, and on to where pages
// lead, as long as that is the instance. Where they lead elsewhere, that address
// is what it gives beside the last page.
func (v *Visitor) Open(address, site string) (Page, *url.URL) {
	v.t.Helper()
	p := v.Do(http.MethodGet, address, nil, site)
	return v.follow(p)
}

func (v *Visitor) follow(p Page) (Page, *url.URL) {
	v.t.Helper()
	for range 10 {
		to := p.leads()
		if to == "" {
			return p, nil
		}
		next, err := url.Parse(to)
		if err != nil {
			v.t.Fatal(err)
		}
		at, err := url.Parse(p.At)
		switch {
		case err != nil:
			v.t.Fatal(err)
		case next.Host == at.Host:
			p = v.Do(http.MethodGet, to, nil, "same-origin")
		case next.Host == v.addr || strings.HasSuffix(next.Hostname(), ".localhost"): // its other name
			p = v.Do(http.MethodGet, to, nil, "cross-site")
		default:
			return p, next
		}
	}
	v.t.Fatalf("the pages lead in a circle, at %s", p.At)
	return p, nil
}

// SignIn uses a link that signs a person in, at the host of another address.
func (v *Visitor) SignIn(link, at string) {
	v.t.Helper()
	l, err := url.Parse(link)
	if err != nil {
		v.t.Fatal(err)
	}
	page, err := url.Parse(at)
	if err != nil {
		v.t.Fatal(err)
	}
	p := v.Do(http.MethodPost, page.Scheme+"://"+page.Host+"/login", l.Query(), "same-origin")
	if p.Status != http.StatusOK || len(v.cookies) == 0 {
		v.t.Fatalf("sign in: %d %s", p.Status, p.Body)
	}
}

var question = regexp.MustCompile(`name="question" value="([^"]+)"`)

// Question is what the page of a program's question sends along; "" where it is
// another page.
func (p *Page) Question() string {
	if found := question.FindStringSubmatch(p.Body); found != nil {
		return html.UnescapeString(found[1])
	}
	return ""
}

// Answer says yes or no to the question on a page, and gives where the browser
// goes then.
func (v *Visitor) Answer(p Page, yes string) (Page, *url.URL) {
	v.t.Helper()
	at, _, _ := strings.Cut(p.At, "?")
	return v.follow(v.Do(http.MethodPost, at, url.Values{"question": {p.Question()}, "answer": {yes}}, "same-origin"))
}

// Consent opens an address that a program sent a person to, consents, and gives
// where the browser is sent back to.
func (v *Visitor) Consent(address string) *url.URL {
	v.t.Helper()
	p, back := v.Open(address, "none")
	if back == nil {
		if p.Question() == "" {
			v.t.Fatalf("%s asks nothing: %d %s", p.At, p.Status, p.Body)
		}
		if p, back = v.Answer(p, "yes"); back == nil {
			v.t.Fatalf("nobody is sent back: %d %s", p.Status, p.Body)
		}
	}
	return back
}
