package mcpapps_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/mcpapps"
)

func TestHeaderOfAPageThatDeclaresNothing(t *testing.T) {
	t.Parallel()
	const want = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
		"img-src 'self' data: blob:; font-src 'self' data: blob:; media-src 'self' data: blob:; worker-src 'self' blob:; " +
		"connect-src 'none'; frame-src 'none'; base-uri 'self'; object-src 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, c := range []*mcpapps.CSP{nil, {}, {ConnectDomains: []string{}}} {
		if got := (mcpapps.Policy{}).HeaderValue(c); got != want {
			t.Errorf("of %+v:\n got %s\nwant %s", c, got, want)
		}
	}
	if got := (*mcpapps.CSP)(nil).ConnectionAllowlist(); got != "(response-origin)" {
		t.Error(got)
	}
}

func TestHeaderHoldsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	c := &mcpapps.CSP{
		ConnectDomains:  []string{"https://api.example.com", "wss://live.example.com:8443"},
		ResourceDomains: []string{"https://*.cdn.example.com", "https://api.example.com/assets/"},
		FrameDomains:    []string{"https://frames.example.com"},
		BaseURIDomains:  []string{"https://base.example.com"},
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	h := mcpapps.Policy{FrameAncestors: []string{"http://p-1.junctor.localhost:8718"}, AllowEval: true, OpaqueOrigin: true, ReportURI: "/report/1"}.HeaderValue(c)
	for _, want := range []string{
		"connect-src https://api.example.com wss://live.example.com:8443;",
		"script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' https://*.cdn.example.com https://api.example.com/assets/;",
		"img-src 'self' data: blob: https://*.cdn.example.com https://api.example.com/assets/;",
		"frame-src https://frames.example.com;",
		"base-uri https://base.example.com;",
		"frame-ancestors http://p-1.junctor.localhost:8718;",
		"sandbox allow-scripts allow-forms;",
		"report-uri /report/1",
	} {
		if !strings.Contains(h, want) {
			t.Errorf("%q is not in %s", want, h)
		}
	}
	const allow = `(response-origin "https://api.example.com" "wss://live.example.com:8443" "https://*.cdn.example.com" "https://frames.example.com" "https://base.example.com")`
	if got := c.ConnectionAllowlist(); got != allow {
		t.Errorf("allowlist\n got %s\nwant %s", got, allow)
	}
}

// bad are declarations that want more than a host. None may reach a header.
func bad() []string {
	return []string{
		"", "*", "https://*", "https://*.com", "'unsafe-eval'", "'self'", "data:", "blob:", "https:", "a.com", "a.com; script-src *",
		"https://a.com; script-src *", "https://a.com script-src", "https://a.com,https://b.com", "https://a.com\r\nX-Evil: 1", "https://a.com\n",
		"https://a.com'", `https://a.com"`, "javascript://a.com", "https://a..com", "https://-a.com", "https://a.com:0", "https://a.com:99999",
		"https://user@a.com", "https://a.com?x", "https://a.com#x", "https://a.com/;x", "https://a.com/,x", "https://ä.example", "HTTPS://a.com",
		"https://[::1]", "https://" + strings.Repeat("a", 400) + ".com", " https://a.com", "https://a.com\x00", "https://a.com\u2028",
	}
}

func TestBadSourcesAreNamedAndLeftOut(t *testing.T) {
	t.Parallel()
	empty := mcpapps.Policy{}.HeaderValue(nil)
	for _, s := range bad() {
		for _, c := range []*mcpapps.CSP{
			{ConnectDomains: []string{s}}, {ResourceDomains: []string{s}}, {FrameDomains: []string{s}}, {BaseURIDomains: []string{s}},
		} {
			if c.Validate() == nil {
				t.Errorf("%q is allowed in %+v", s, c)
			}
			if got := (mcpapps.Policy{FrameAncestors: []string{s}, ReportURI: s}).HeaderValue(c); got != empty {
				t.Errorf("%q reached the header: %s", s, got)
			}
			if got := c.ConnectionAllowlist(); got != "(response-origin)" {
				t.Errorf("%q reached the allowlist: %s", s, got)
			}
		}
	}
}

func TestTooManySourcesAreCut(t *testing.T) {
	t.Parallel()
	c := &mcpapps.CSP{}
	for range 1000 {
		c.ConnectDomains = append(c.ConnectDomains, "https://a.example")
	}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("no word of the 1000: %v", err)
	}
	if n := strings.Count(mcpapps.Policy{}.HeaderValue(c), "a.example"); n != 64 {
		t.Errorf("%d sources, not 64", n)
	}
	if n := len(c.FilterInvalid().ConnectDomains); n != 64 {
		t.Errorf("%d allowed, not 64", n)
	}
}

// FuzzHeader holds that a header has its directives, each once and in order,
// and in them only keywords of ours and sources of the grammar that were
// declared, whatever is declared.
func FuzzHeader(f *testing.F) {
	for _, s := range bad() {
		f.Add(s, s, s, s)
	}
	f.Add("https://a.example", "wss://*.b.example:*", "http://127.0.0.1:80/x", "https://c.example/")
	ours := map[string]bool{
		"'self'": true, "'unsafe-inline'": true, "'none'": true, "data:": true, "blob:": true,
	}
	plain := regexp.MustCompile(`\A(https?|wss?)://(\*\.)?[A-Za-z0-9.-]+(:(\d+|\*))?(/[^\s;,'"]*)?\z`)
	directives := strings.Fields("default-src script-src style-src img-src font-src media-src worker-src connect-src frame-src base-uri object-src form-action frame-ancestors")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		csp := &mcpapps.CSP{ConnectDomains: []string{a}, ResourceDomains: []string{b, a}, FrameDomains: []string{c}, BaseURIDomains: []string{d}}
		declared := map[string]bool{a: true, b: true, c: true, d: true}
		header := mcpapps.Policy{FrameAncestors: []string{d}}.HeaderValue(csp)
		parts := strings.Split(header, ";")
		if len(parts) != len(directives) {
			t.Fatalf("%d directives in %q", len(parts), header)
		}
		for i, p := range parts {
			words := strings.Fields(p)
			if words[0] != directives[i] {
				t.Fatalf("%q where %s stands, in %q", words[0], directives[i], header)
			}
			for _, w := range words[1:] {
				if !ours[w] && (!declared[w] || !plain.MatchString(w)) {
					t.Fatalf("%q in %q", w, header)
				}
			}
		}
		for _, r := range header + csp.ConnectionAllowlist() {
			if r < ' ' || r > '~' {
				t.Fatalf("%q in a header", r)
			}
		}
		if csp.Validate() == nil != (len(csp.FilterInvalid().ConnectDomains)+len(csp.FilterInvalid().ResourceDomains)+len(csp.FilterInvalid().FrameDomains)+len(csp.FilterInvalid().BaseURIDomains) == 5) {
			t.Fatal("Validate and Allowed disagree")
		}
	})
}
