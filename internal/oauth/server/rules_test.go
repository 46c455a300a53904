package server

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, fine := range []string{
		"https://claude.ai/api/mcp/auth_callback", "https://a.example:8443/x?y=z", "http://127.0.0.1/callback", "http://127.0.0.1:33418/", "http://localhost:6274/oauth/callback",
		"http://[::1]:9/cb", "cursor://anysphere.cursor-mcp/oauth/callback", "vscode://vscode.github-authentication/did-authenticate", "com.example.app:/oauth", "com.example.app://x",
	} {
		if _, f := checkRedirect(fine); f != nil {
			t.Errorf("%s: %s", fine, f.Text)
		}
	}
	for _, bad := range []string{
		"", "/callback", "//evil.example/", "http://evil.example/", "http://127.0.0.1.evil.example/", "http://127.1/", "http://0.0.0.0/", "http://192.168.0.1/", "https:///x", "https://",
		"https://user@a.example/", "https://a.example/#x", "https://a.example/#", "javascript:alert(1)", "javascript://a.example/%0aalert(1)", "JavaScript://x/", "data:text/html,x", "data://x/y",
		"vbscript:x", "file:///etc/passwd", "blob:https://a.example/x", "about:blank", "filesystem:https://a.example/", "view-source:https://a.example", "ms-msdt:/id", "intent://x/", "mailto:a@b",
		"ftp://a.example/", "ws://a.example/", "cursor:opaque", "com.example.app:opaque", "https://a.example/ x", "https://a.example/\n", "https://a.example/\"><script>", "https://a.example\\@b.example/",
		"https://a.example/'", "https://\u0430.example/", "https://a.example/" + strings.Repeat("x", 500), "https://[::1", " https://a.example/",
	} {
		if u, f := checkRedirect(bad); f == nil {
			t.Errorf("%q is taken as %v", bad, u)
		}
	}
	for _, tt := range []struct {
		registered, asked string
		same              bool
	}{
		{"https://a.example/cb", "https://a.example/cb", true},
		{"https://a.example/cb", "https://a.example/cb/", false},
		{"https://a.example/cb", "https://a.example/cb?x", false},
		{"https://a.example/cb", "https://a.example:443/cb", false},
		{"https://a.example/cb", "https://A.example/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:999/cb", true},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1/cb", true},
		{"http://[::1]:1/cb", "http://[::1]:2/cb", true},
		{"http://localhost:1/cb", "http://127.0.0.1:1/cb", false},
		{"http://127.0.0.1:1/cb", "https://127.0.0.1:1/cb", false},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1:1/cd", false},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb?x=y", false},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1:evil@b.example/cb", false},
	} {
		if got := matchesRedirect(tt.registered, tt.asked); got != tt.same {
			t.Errorf("%s and %s: %v", tt.registered, tt.asked, got)
		}
	}
}

func TestShownNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Claude": "Claude", "  a\n\tb  ": "a b", "\u202egnp.exe": "gnp.exe", "a\u200bb\u2066c\ufeff": "abc", "\x00\x1b[31m": "[31m", "<script>": "<script>", "Café नोट": "Café नोट",
		"a" + strings.Repeat("\u0301", 50): "a\u0301\u0301", strings.Repeat("x", 200): strings.Repeat("x", 80) + "…", "\xff\xfe": "", "": "",
	} {
		if got := cleanName(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestDocumentAddresses(t *testing.T) {
	t.Parallel()
	for id, fine := range map[string]bool{
		"https://a.example/client.json": true, "https://a.example:8443/x/y": true, "https://a.example/x/": true, "https://a.example/x?y=z": true,
		"https://a.example": false, "https://a.example/": false, "http://a.example/x": false, "https://a.example/x#y": false, "https://u@a.example/x": false, "https://u:p@a.example/x": false,
		"https://a.example/../x": false, "https://a.example/x/./y": false, "https://a.example//x": false, "https:///x": false, "https://a.example/x y": false, "https://a.example\\x/y": false,
		"https://\u0430.example/x": false, "HTTPS://a.example/x": false, "https://a.example/" + strings.Repeat("x", 600): false, "client": false, "": false,
	} {
		if _, got := parseDocumentURL(id); got != fine {
			t.Errorf("%s: %v", id, got)
		}
	}
}

func TestFollowers(t *testing.T) {
	t.Parallel()
	one := deriveToken(refreshPrefix, "before", []byte("salt"))
	if one != deriveToken(refreshPrefix, "before", []byte("salt")) || len(one) != len(refreshPrefix)+43 {
		t.Errorf("%s is not the one that follows", one)
	}
	for name, other := range map[string]string{
		"kind": deriveToken(accessPrefix, "before", []byte("salt")), "token": deriveToken(refreshPrefix, "other", []byte("salt")), "salt": deriveToken(refreshPrefix, "before", []byte("pepper")),
	} {
		if strings.TrimPrefix(other, accessPrefix) == strings.TrimPrefix(one, refreshPrefix) || other == one {
			t.Errorf("another %s is followed by the same", name)
		}
	}
}

func fuzzed() *Server {
	a := &Server{options: Options{URL: func() string { return "https://j.example" }, Scopes: []Scope{{"tools:read", "tools:read"}, {"use", "tools:call"}}}}
	for _, s := range a.options.Scopes {
		a.allScopes = append(a.allScopes, s.Scope)
	}
	return a
}

// FuzzAuthorizationRequest checks that an accepted request is for an MCP endpoint of
// this instance, with a PKCE challenge and with known scopes.
func FuzzAuthorizationRequest(f *testing.F) {
	const good = "response_type=code&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	for _, seed := range []string{good, good + "&scope=use&resource=https://j.example/mcp/s/x&state=%00", good + "&scope=&state=&prompt=consent", "response_type=token", good + "&state=a&state=b", "%", "a=b;c=d"} {
		f.Add(seed)
	}
	a := fuzzed()
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		r, bad := a.parseAuthorizationRequest(v)
		if (r == nil) == (bad == nil) && bad == nil {
			t.Fatalf("%q is neither good nor bad", query)
		}
		if bad != nil {
			return
		}
		if !a.isMCPEndpoint(r.Resource) || !isChallenge(r.Challenge) || len(r.Scopes) == 0 || !coversScopes(a.allScopes, r.Scopes) || len(v["state"]) > 1 || (r.State != nil) != v.Has("state") {
			t.Fatalf("%q: %+v", query, r)
		}
	})
}

// FuzzTokenRequest checks that an accepted token request has all its parameters.
func FuzzTokenRequest(f *testing.F) {
	for _, seed := range []string{"grant_type=refresh_token&client_id=a&refresh_token=b", "grant_type=authorization_code&client_id=a&code=b&code_verifier=c&redirect_uri=d", "grant_type=x", "grant_type=refresh_token&grant_type=refresh_token"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		v, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		w, bad := parseTokenRequest(v)
		if (w == nil) == (bad == nil) {
			t.Fatalf("%q is neither good nor bad", body)
		}
		if w != nil && (w.client == "" || w.grant == "refresh_token" && w.refresh == "" || w.grant == "authorization_code" && (w.code == "" || w.verifier == "" || w.redirect == "")) {
			t.Fatalf("%q: %+v", body, w)
		}
	})
}

// FuzzMetadata checks that accepted client metadata has only safe redirect addresses
// and a name that is safe to show.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"client_id":"https://a.example/c","client_name":"A","redirect_uris":["https://a.example/cb"]}`, `{"redirect_uris":["javascript:alert(1)"]}`, `{"redirect_uris":["cursor://x/y"],"client_name":"\u202e"}`,
		`{"redirect_uris":[]}`, `{"redirect_uris":["https://a.example/"],"redirect_uris":["x"]}`, `[]`, `{"redirect_uris":["https://a.example/"],"grant_types":["implicit"]}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, bad := readMetadata(text)
		if (m == nil) == (bad == nil) {
			t.Fatalf("%q is neither good nor bad", text)
		}
		if m == nil {
			return
		}
		for _, r := range m.Redirects {
			u, err := url.Parse(r)
			if err != nil || u.Fragment != "" || u.User != nil || u.Scheme == "http" && !isLoopback(u.Hostname()) || u.Scheme == "javascript" || u.Scheme == "data" {
				t.Errorf("%q is sent to", r)
			}
			if back := addQuery(r, url.Values{"code": {"c"}}); !strings.HasPrefix(back, r) {
				t.Errorf("%q", back)
			}
		}
		name := m.displayName()
		if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxNameLength+1 || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q is shown as %q", m.Name, name)
		}
	})
}
