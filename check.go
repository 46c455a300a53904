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
		return Errorf(CodeInvalid, "the connection of the server is invalid: %s", fmt.Sprintf(format, args...))
	}
	switch c.Transport {
	case TransportHTTP, TransportSSE:
		if len(c.Command) > 0 || len(c.Env) > 0 || c.Cwd != "" {
			return fault("command, env and cwd are allowed only with the transport stdio")
		}
		if err := CheckServerURL(c.URL); err != nil {
			return err
		}
	case TransportStdio:
		switch {
		case c.URL != "" || len(c.Headers) > 0 || c.Auth != nil && c.Auth.Type != AuthNone:
			return fault("url, headers and auth are allowed only with the transports http and sse; pass the credentials of a command in env")
		case len(c.Command) == 0 || c.Command[0] == "":
			return fault("the transport stdio requires command, a list of the program and its arguments")
		case slices.ContainsFunc(append(slices.Clone(c.Command), c.Cwd), func(s string) bool { return strings.ContainsRune(s, 0) }):
			return fault("command must not contain the character NUL")
		}
	default:
		return fault("unknown transport %q; use http, sse or stdio", string(c.Transport))
	}
	if err := CheckFields(c); err != nil {
		return fault("%s", AsError(err).Message)
	}
	if err := c.CheckOverrides(); err != nil {
		return fault("%s", AsError(err).Message)
	}
	if c.PerUser() && c.Transport == TransportStdio {
		return fault("credentials per-user is allowed only with the transports http and sse, because a command has the same env for every user")
	}
	if c.Home == HomeOne && c.Transport != TransportStdio {
		return fault("home one is allowed only with the transport stdio")
	}
	for name := range c.Headers {
		if !headerAllowed(name) {
			return fault("%q cannot be set in headers: it is not a valid header name, or the transport sets it", name)
		}
	}
	for name := range c.Env {
		if !variable(name) {
			return fault("%q is not a valid name of an environment variable", name)
		}
	}
	return c.Auth.check()
}

// CheckOverrides returns an error that names the first invalid override of a tool.
func (c *Connection) CheckOverrides() error {
	for _, tool := range slices.Sorted(maps.Keys(c.Overrides)) {
		o := c.Overrides[tool]
		if err := CheckFields(o); err != nil {
			return Errorf(CodeInvalid, "overrides.%s.%s", tool, AsError(err).Message)
		}
		if o.Name != "" && !isToolName(o.Name) {
			return Errorf(CodeInvalid, "overrides.%s.name: %q is not a name that all clients and models accept; use up to 64 letters, digits, _ and -", tool, ShortenText(o.Name, 100))
		}
	}
	return nil
}

// isToolName reports whether a text is a name that users may give to a tool. Servers may have
// odd names, but APIs of models refuse them.
func isToolName(name string) bool {
	ok, _ := regexp.MatchString(`^[A-Za-z0-9_-]{1,64}$`, name)
	return ok
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
		return Errorf(CodeInvalid, "the transports http and sse require url")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return Errorf(CodeInvalid, "url is not a valid server URL; write it as https://host/path")
	case u.User != nil:
		return Errorf(CodeInvalid, "url must not contain a user or password; set them in auth")
	case u.Fragment != "":
		return Errorf(CodeInvalid, "url must not have a fragment")
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
		return fault("client_auth must be private-key-jwt; it requires the type oauth or oauth-client, and the client's private key as the secret")
	}
	if a.Type != AuthOAuthClient && (a.Grant != "" || a.Subject != "" || a.SubjectType != "" || a.Audience != "" || a.IDPTokenURL != "" || a.IDPClientID != "" || a.IDPSecret != "") {
		return fault("grant and its fields are allowed only with the type oauth-client")
	}
	if a.Type != AuthOAuth && a.Type != AuthOAuthClient && (a.TokenURL != "" || a.Issuer != "" || a.ClientID != "") {
		return fault("token_url, issuer and client_id are allowed only with the types oauth and oauth-client")
	}
	needs := a.Type != AuthNone && a.Type != AuthOAuth && a.Grant == ""
	switch a.Type {
	case AuthNone, AuthBearer:
	case AuthAPIKey:
		if a.Header != "" && !headerAllowed(a.Header) {
			return fault("header is not a header name that can be set")
		}
	case AuthBasic:
		if a.Username == "" || strings.Contains(a.Username, ":") {
			return fault("basic requires username, without a colon")
		}
	case AuthOAuthClient:
		if what := a.checkClient(); what != "" {
			return fault(what)
		}
	case AuthOAuth:
		if a.Issuer != "" && CheckServerURL(a.Issuer) != nil {
			return fault("issuer is not a valid URL of an authorization server")
		}
		if a.Secret != "" && a.ClientID == "" {
			return fault("client_secret requires client_id with the type oauth")
		}
		return nil
	default:
		return fault("unknown type; use none, bearer, api-key, basic, oauth-client or oauth")
	}
	if needs && a.Secret == "" {
		return fault(string(a.Type) + " requires a secret")
	}
	if !needs && a.Secret != "" && a.Grant == "" {
		return fault("a secret requires a type; use bearer, api-key, basic or oauth-client")
	}
	return nil
}

// checkClient returns what is wrong with the OAuth client; "" if nothing is.
func (a *Auth) checkClient() string {
	subject := a.Subject != ""
	switch a.Grant {
	case "":
		if subject || a.SubjectType != "" || a.Audience != "" {
			return "subject, subject_type and audience require a grant: jwt-bearer, token-exchange or enterprise"
		}
		if a.ClientID == "" {
			return "oauth-client requires client_id"
		}
	case GrantJWTBearer:
		if !subject || a.SubjectType != "" || a.Audience != "" {
			return "the grant jwt-bearer requires the assertion as subject, and allows neither subject_type nor audience"
		}
	case GrantTokenExchange:
		if !subject || !slices.Contains([]SubjectType{"", SubjectAccessToken, SubjectIDToken, SubjectRefreshToken, SubjectJWT}, a.SubjectType) {
			return "the grant token-exchange requires the token to exchange as subject; subject_type must be access_token, id_token, refresh_token or jwt"
		}
	case GrantEnterprise:
		if !subject || a.SubjectType != "" || a.Audience != "" || a.ClientID == "" || a.IDPClientID == "" || CheckServerURL(a.IDPTokenURL) != nil || a.TokenURL != "" {
			return "the grant enterprise requires the user's ID token as subject, client_id, and the provider's idp_token_url and idp_client_id; it allows no token_url, because the server names its authorization server"
		}
	default:
		return "unknown grant; use jwt-bearer, token-exchange or enterprise, or omit it for the client credentials grant"
	}
	if a.Grant != GrantEnterprise && (a.IDPTokenURL != "" || a.IDPClientID != "" || a.IDPSecret != "") {
		return "idp_token_url, idp_client_id and idp_secret are allowed only with the grant enterprise"
	}
	if a.Issuer != "" && CheckServerURL(a.Issuer) != nil {
		return "issuer is not a valid URL of an authorization server"
	}
	// A secret must go only where the operator says. A signed assertion, or one
	// that a provider issued, is valid at one authorization server only, so
	// discovery cannot leak it.
	bound := a.ClientAuth == ClientAuthKey && a.Grant == "" || a.Grant == GrantEnterprise && (a.Secret == "" || a.ClientAuth == ClientAuthKey)
	if err := CheckServerURL(a.TokenURL); err != nil && (a.TokenURL != "" || a.Issuer == "" && !bound) {
		return "oauth-client requires token_url, or an issuer that names it: " + AsError(err).Message
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
