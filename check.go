package junctor

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Check returns an error that names the first invalid member, if there is one.
func (c *Connection) Check() error {
	fault := func(format string, args ...any) error {
		return Errorf(CodeInvalid, "the server cannot be reached like this: %s", fmt.Sprintf(format, args...))
	}
	switch c.Transport {
	case TransportHTTP, TransportSSE:
		if len(c.Command) > 0 || len(c.Env) > 0 || c.Cwd != "" {
			return fault("command, env and cwd are for the transport stdio")
		}
		if err := CheckServerURL(c.URL); err != nil {
			return err
		}
	case TransportStdio:
		switch {
		case c.URL != "" || len(c.Headers) > 0 || c.Auth != nil && c.Auth.Type != AuthNone:
			return fault("url, headers and auth are for the transports http and sse; a command takes its credentials from env")
		case len(c.Command) == 0 || c.Command[0] == "":
			return fault("the transport stdio needs a command, a list of the program and its arguments")
		case slices.ContainsFunc(append(slices.Clone(c.Command), c.Cwd), func(s string) bool { return strings.ContainsRune(s, 0) }):
			return fault("command must not contain the character NUL")
		}
	default:
		return fault("unknown transport %q; use http, sse or stdio", string(c.Transport))
	}
	if err := CheckFields(c); err != nil {
		return fault("%s", AsError(err).Message)
	}
	for _, tool := range slices.Sorted(maps.Keys(c.Overrides)) {
		if err := CheckFields(c.Overrides[tool]); err != nil {
			return fault("overrides.%s.%s", tool, AsError(err).Message)
		}
	}
	if c.PerUser() && c.Transport == TransportStdio {
		return fault("credentials per-user are for the transports http and sse; a command has the same variables for everybody")
	}
	if c.Home == HomeOne && c.Transport != TransportStdio {
		return fault("home one is for the transport stdio: a server at a URL runs where it is")
	}
	for name := range c.Headers {
		if !headerAllowed(name) {
			return fault("%q cannot be set as a header: it is none, or belongs to the transport", name)
		}
	}
	for name := range c.Env {
		if !variable(name) {
			return fault("%q is not the name of an environment variable", name)
		}
	}
	return c.Auth.check()
}

// variable reports whether a text is the name of an environment variable.
func variable(name string) bool {
	ok, _ := regexp.MatchString(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`, name)
	return ok
}

// CheckServerURL returns an error if text is not the URL of an MCP server. The
// error does not repeat the URL, which may contain a credential in the wrong
// place.
func CheckServerURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return Errorf(CodeInvalid, "the transports http and sse need a url")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return Errorf(CodeInvalid, "url is not a valid URL of a server: write it as https://host/path")
	case u.User != nil:
		return Errorf(CodeInvalid, "the url must not hold a user or password: give them as auth")
	case u.Fragment != "":
		return Errorf(CodeInvalid, "the url must not have a fragment")
	}
	return nil
}

// check returns an error that names the first member that is missing, unknown
// or not allowed with the type.
func (a *Auth) check() error {
	if a == nil {
		return nil
	}
	fault := func(what string) error { return Errorf(CodeInvalid, "auth: %s", what) }
	if a.ClientAuth != "" && (a.ClientAuth != ClientAuthKey || a.Type != AuthOAuth && a.Type != AuthOAuthClient || a.Secret == "") {
		return fault("client_auth is private-key-jwt, with the types oauth and oauth-client and the client's private key as the secret")
	}
	if a.Type != AuthOAuthClient && (a.Grant != "" || a.Subject != "" || a.SubjectType != "" || a.Audience != "" || a.IDPTokenURL != "" || a.IDPClientID != "" || a.IDPSecret != "") {
		return fault("grant and what belongs to it go with the type oauth-client")
	}
	if a.Type != AuthOAuth && a.Type != AuthOAuthClient && (a.TokenURL != "" || a.Issuer != "" || a.ClientID != "") {
		return fault("token_url, issuer and client_id go with the types oauth and oauth-client")
	}
	needs := a.Type != AuthNone && a.Type != AuthOAuth && a.Grant == ""
	switch a.Type {
	case AuthNone, AuthBearer:
	case AuthAPIKey:
		if a.Header != "" && !headerAllowed(a.Header) {
			return fault("header is not the name of a header that can be set")
		}
	case AuthBasic:
		if a.Username == "" || strings.Contains(a.Username, ":") {
			return fault("basic needs a username, without a colon")
		}
	case AuthOAuthClient:
		if what := a.checkClient(); what != "" {
			return fault(what)
		}
	case AuthOAuth:
		if a.Issuer != "" && CheckServerURL(a.Issuer) != nil {
			return fault("issuer is not the address of an authorization server")
		}
		if a.Secret != "" && a.ClientID == "" {
			return fault("oauth has a client_secret only with the client_id that it belongs to")
		}
		return nil
	default:
		return fault("unknown type; use none, bearer, api-key, basic, oauth-client or oauth")
	}
	if needs && a.Secret == "" {
		return fault(string(a.Type) + " needs its secret")
	}
	if !needs && a.Secret != "" && a.Grant == "" {
		return fault("a secret without a type: use bearer, api-key, basic or oauth-client")
	}
	return nil
}

// checkClient returns what is wrong with the OAuth client; "" if nothing is.
func (a *Auth) checkClient() string {
	subject := a.Subject != ""
	switch a.Grant {
	case "":
		if subject || a.SubjectType != "" || a.Audience != "" {
			return "subject, subject_type and audience go with a grant: jwt-bearer, token-exchange or enterprise"
		}
		if a.ClientID == "" {
			return "oauth-client needs a client_id"
		}
	case GrantJWTBearer:
		if !subject || a.SubjectType != "" || a.Audience != "" {
			return "the grant jwt-bearer needs its statement as the subject, and nothing else of it"
		}
	case GrantTokenExchange:
		if !subject || !slices.Contains([]SubjectType{"", SubjectAccessToken, SubjectIDToken, SubjectRefreshToken, SubjectJWT}, a.SubjectType) {
			return "the grant token-exchange needs the token to exchange as the subject, and its subject_type is access_token, id_token, refresh_token or jwt"
		}
	case GrantEnterprise:
		if !subject || a.SubjectType != "" || a.Audience != "" || a.ClientID == "" || a.IDPClientID == "" || CheckServerURL(a.IDPTokenURL) != nil || a.TokenURL != "" {
			return "the grant enterprise needs the person's identity token as the subject, a client_id, the provider's idp_token_url and idp_client_id, and no token_url: the server names its authorization server"
		}
	default:
		return "unknown grant; use jwt-bearer, token-exchange or enterprise, or none for a token for the client itself"
	}
	if a.Grant != GrantEnterprise && (a.IDPTokenURL != "" || a.IDPClientID != "" || a.IDPSecret != "") {
		return "idp_token_url, idp_client_id and idp_secret go with the grant enterprise"
	}
	if a.Issuer != "" && CheckServerURL(a.Issuer) != nil {
		return "issuer is not the address of an authorization server"
	}
	// A secret must go only where the operator says. A signed assertion, or one
	// that a provider issued, is valid at one authorization server only, so
	// discovery cannot leak it.
	bound := a.ClientAuth == ClientAuthKey && a.Grant == "" || a.Grant == GrantEnterprise && (a.Secret == "" || a.ClientAuth == ClientAuthKey)
	if err := CheckServerURL(a.TokenURL); err != nil && (a.TokenURL != "" || a.Issuer == "" && !bound) {
		return "oauth-client needs a token_url, or the issuer that names it: " + AsError(err).Message
	}
	return ""
}

// headerAllowed reports whether a server's definition may set a header. The
// transport and the protocol set their own headers.
func headerAllowed(name string) bool {
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9_-]{1,100}$`, name); !ok {
		return false
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "content-type", "content-encoding",
		"accept", "accept-encoding", "expect", "last-event-id", "proxy-connection", "proxy-authorization":
		return false
	}
	return !strings.HasPrefix(strings.ToLower(name), "mcp-")
}

// Origin returns the scheme, host and port of the connection's URL, the only
// place its credentials are sent to; "stdio" for a command.
func (c *Connection) Origin() string {
	if c.Transport == TransportStdio {
		return string(TransportStdio)
	}
	origin := originOf(c.URL)
	if c.Auth != nil && c.Auth.TokenURL != "" {
		origin += " " + originOf(c.Auth.TokenURL)
	}
	if c.Auth != nil && c.Auth.Issuer != "" {
		origin += " " + originOf(c.Auth.Issuer)
	}
	if c.Auth != nil && c.Auth.IDPTokenURL != "" {
		origin += " " + originOf(c.Auth.IDPTokenURL)
	}
	return origin
}

// Destination returns where the credential at a place of the connection is
// sent, as a text to compare: a credential may move from one place to another
// only if both have the same destination. api is the definition of a generated
// server, else nil; its document may name the authorization server.
func (c *Connection) Destination(place string, api *API) string {
	switch {
	case c.Transport == TransportStdio:
		return string(TransportStdio)
	case c.Auth == nil || place != PlaceAuth && place != PlaceSubject && place != PlaceIDPSecret:
		return originOf(c.URL)
	case place == PlaceIDPSecret || place == PlaceSubject && c.Auth.Grant == GrantEnterprise:
		return "identity provider " + originOf(c.Auth.IDPTokenURL)
	case c.Auth.Type != AuthOAuth && c.Auth.Type != AuthOAuthClient:
		return originOf(c.URL)
	}
	// The server at URL names its authorization server, unless an issuer, a
	// token endpoint or the document does. A signing key is never sent, so its
	// destination differs from that of a secret.
	named := []string{"authorization server", string(c.Auth.ClientAuth), originOf(c.Auth.Issuer), originOf(c.Auth.TokenURL)}
	if c.Auth.Type == AuthOAuth && api != nil {
		named = append(named, originOf(api.LoginURL), originOf(api.TokenURL))
	}
	if c.Auth.Issuer == "" && c.Auth.TokenURL == "" {
		named = append(named, originOf(c.URL))
	}
	return strings.Join(named, " ")
}

func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
