package junctor_test

import (
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	const url = "https://example.com/mcp"
	web := func(set func(*junctor.Connection)) junctor.Connection {
		c := junctor.Connection{Transport: junctor.TransportHTTP, URL: url}
		set(&c)
		return c
	}
	auth := func(a junctor.Auth) junctor.Connection { return web(func(c *junctor.Connection) { c.Auth = &a }) }
	for name, tt := range map[string]struct {
		c    junctor.Connection
		want string // part of the message; "" is fine
	}{
		"http":             {web(func(*junctor.Connection) {}), ""},
		"sse":              {junctor.Connection{Transport: "sse", URL: url}, ""},
		"command":          {junctor.Connection{Transport: "stdio", Command: []string{"a", ""}, Env: map[string]string{"A_1": "x"}, Cwd: "/"}, ""},
		"no transport":     {junctor.Connection{URL: url}, "http, sse or stdio"},
		"no url":           {junctor.Connection{Transport: "http"}, "require url"},
		"a file":           {web(func(c *junctor.Connection) { c.URL = "file:///etc/passwd" }), "https://host/path"},
		"no host":          {web(func(c *junctor.Connection) { c.URL = "https:///x" }), "https://host/path"},
		"password in it":   {web(func(c *junctor.Connection) { c.URL = "https://u:canary@example.com/" }), "user or password"},
		"fragment":         {web(func(c *junctor.Connection) { c.URL += "#x" }), "fragment"},
		"url and command":  {web(func(c *junctor.Connection) { c.Command = []string{"x"} }), "only with the transport stdio"},
		"command and url":  {junctor.Connection{Transport: "stdio", Command: []string{"a"}, URL: url}, "only with the transports http"},
		"command and auth": {junctor.Connection{Transport: "stdio", Command: []string{"a"}, Auth: &junctor.Auth{Type: "bearer", Secret: "x"}}, "in env"},
		"no command":       {junctor.Connection{Transport: "stdio"}, "requires command"},
		"NUL":              {junctor.Connection{Transport: "stdio", Command: []string{"a\x00"}}, "NUL"},
		"odd variable":     {junctor.Connection{Transport: "stdio", Command: []string{"a"}, Env: map[string]string{"A=B": "x"}}, "environment variable"},
		"new name":         {web(func(c *junctor.Connection) { c.Overrides = map[string]junctor.Override{"a b": {Name: "Find_all-2"}} }), ""},
		"odd name":         {web(func(c *junctor.Connection) { c.Overrides = map[string]junctor.Override{"find": {Name: "find all!"}} }), "overrides.find.name"},
		"long name": {web(func(c *junctor.Connection) {
			c.Overrides = map[string]junctor.Override{"find": {Name: strings.Repeat("x", 65)}}
		}), "up to 64 letters"},
		"odd header":       {web(func(c *junctor.Connection) { c.Headers = map[string]string{"a b": "x"} }), "header"},
		"our header":       {web(func(c *junctor.Connection) { c.Headers = map[string]string{"MCP-Session-Id": "x"} }), "header"},
		"odd home":         {web(func(c *junctor.Connection) { c.Home = "some" }), "home"},
		"a URL's home":     {web(func(c *junctor.Connection) { c.Home = junctor.HomeOne }), "home"},
		"odd views":        {web(func(c *junctor.Connection) { c.Views = "maybe" }), "views"},
		"odd isolation":    {web(func(c *junctor.Connection) { c.Isolation = "none" }), "isolation"},
		"long":             {web(func(c *junctor.Connection) { c.CallTimeout = junctor.Duration(25 * time.Hour) }), "call_timeout"},
		"bearer":           {auth(junctor.Auth{Type: "bearer", Secret: "x"}), ""},
		"bearer, empty":    {auth(junctor.Auth{Type: "bearer"}), "requires a secret"},
		"none with secret": {auth(junctor.Auth{Type: "none", Secret: "x"}), "requires a type"},
		"api-key":          {auth(junctor.Auth{Type: "api-key", Secret: "x", Header: "X-Key"}), ""},
		"api-key in Host":  {auth(junctor.Auth{Type: "api-key", Secret: "x", Header: "Host"}), "header"},
		"basic":            {auth(junctor.Auth{Type: "basic", Secret: "x", Username: "u"}), ""},
		"basic, colon":     {auth(junctor.Auth{Type: "basic", Secret: "x", Username: "u:v"}), "colon"},
		"oauth":            {auth(junctor.Auth{Type: "oauth-client", Secret: "x", ClientID: "c", TokenURL: url}), ""},
		"oauth, no url":    {auth(junctor.Auth{Type: "oauth-client", Secret: "x", ClientID: "c"}), "token_url"},
		"oauth, issuer":    {auth(junctor.Auth{Type: "oauth-client", Secret: "x", ClientID: "c", Issuer: url}), ""},
		"oauth, key":       {auth(junctor.Auth{Type: "oauth-client", Secret: "x", ClientID: "c", ClientAuth: "private-key-jwt"}), ""},
		"odd client auth":  {auth(junctor.Auth{Type: "oauth-client", Secret: "x", ClientID: "c", TokenURL: url, ClientAuth: "magic"}), "client_auth"},
		"assertion":        {auth(junctor.Auth{Type: "oauth-client", Grant: "jwt-bearer", Subject: "x", Issuer: url}), ""},
		"assertion, none":  {auth(junctor.Auth{Type: "oauth-client", Grant: "jwt-bearer", Issuer: url}), "the assertion as subject"},
		"assertion, where": {auth(junctor.Auth{Type: "oauth-client", Grant: "jwt-bearer", Subject: "x"}), "token_url"},
		"exchange":         {auth(junctor.Auth{Type: "oauth-client", Grant: "token-exchange", Subject: "x", SubjectType: "id_token", Audience: "a", TokenURL: url, ClientID: "c", Secret: "s"}), ""},
		"exchange, odd":    {auth(junctor.Auth{Type: "oauth-client", Grant: "token-exchange", Subject: "x", SubjectType: "magic", TokenURL: url}), "subject_type"},
		"enterprise":       {auth(junctor.Auth{Type: "oauth-client", Grant: "enterprise", Subject: "x", ClientID: "c", IDPTokenURL: url, IDPClientID: "i"}), ""},
		"enterprise, idp":  {auth(junctor.Auth{Type: "oauth-client", Grant: "enterprise", Subject: "x", ClientID: "c", IDPClientID: "i"}), "idp_token_url"},
		"enterprise, bare": {auth(junctor.Auth{Type: "oauth-client", Grant: "enterprise", Subject: "x", ClientID: "c", Secret: "s", IDPTokenURL: url, IDPClientID: "i"}), "issuer"},
		"odd grant":        {auth(junctor.Auth{Type: "oauth-client", Grant: "magic", Subject: "x", TokenURL: url}), "unknown grant"},
		"grant of none":    {auth(junctor.Auth{Type: "oauth-client", Secret: "s", ClientID: "c", Subject: "x", TokenURL: url}), "require a grant"},
		"grant of bearer":  {auth(junctor.Auth{Type: "bearer", Secret: "s", Subject: "x"}), "oauth-client"},
		"idp of none":      {auth(junctor.Auth{Type: "oauth-client", Secret: "s", ClientID: "c", TokenURL: url, IDPSecret: "x"}), "enterprise"},
		"unknown auth":     {auth(junctor.Auth{Type: "magic", Secret: "x"}), "unknown type"},
		"login":            {auth(junctor.Auth{Type: "oauth"}), ""},
		"login, client":    {auth(junctor.Auth{Type: "oauth", ClientID: "c", Secret: "x", Issuer: url}), ""},
		"login, no client": {auth(junctor.Auth{Type: "oauth", Secret: "x"}), "client_id"},
		"login, issuer":    {auth(junctor.Auth{Type: "oauth", Issuer: "x"}), "authorization server"},
	} {
		err := tt.c.Check()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "canary"):
			t.Errorf("%s: the message shows the password", name)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	origin := func(url, token string) string {
		c := junctor.Connection{Transport: junctor.TransportHTTP, URL: url}
		if token != "" {
			c.Auth = &junctor.Auth{Type: junctor.AuthOAuthClient, TokenURL: token}
		}
		return c.Origin()
	}
	if a, b := origin("https://Example.com/a?x", ""), origin("https://example.com:443/b", ""); a != b {
		t.Errorf("%s and %s are the same origin", a, b)
	}
	for _, other := range []string{origin("http://example.com/", ""), origin("https://example.com:444/", ""), origin("https://example.org/", ""), origin("https://example.com/", "https://t.example/")} {
		if other == origin("https://example.com/", "") {
			t.Errorf("%s is not the same origin", other)
		}
	}
}
