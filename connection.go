package junctor

import "context"

// Transport is the protocol that an upstream server is called with.
type Transport string

// The transports.
const (
	TransportHTTP  Transport = "http"  // Streamable HTTP of either era
	TransportSSE   Transport = "sse"   // HTTP+SSE of 2024-11-05
	TransportStdio Transport = "stdio" // a command that Junctor runs
)

// AuthType is how Junctor authenticates at a server.
type AuthType string

// The ways to authenticate.
const (
	AuthNone        AuthType = "none"
	AuthBearer      AuthType = "bearer"       // Authorization: Bearer <secret>
	AuthAPIKey      AuthType = "api-key"      // <header>: <secret>
	AuthBasic       AuthType = "basic"        // HTTP Basic with username and secret
	AuthOAuthClient AuthType = "oauth-client" // OAuth client credentials grant, with client_id and secret
	AuthOAuth       AuthType = "oauth"        // OAuth: a user logs in at the server's authorization server
)

// Isolation is who shares a connection to a server.
type Isolation string

// The isolations.
const (
	IsolationShared  Isolation = "shared"  // one for all callers, until the server turns out to need more
	IsolationSession Isolation = "session" // one per client session; without a session, per principal and client name
	IsolationUser    Isolation = "user"    // one per principal
)

// Credentials is whose credentials the calls of a server use.
type Credentials string

// The choices of credentials.
const (
	CredentialsShared  Credentials = "shared"   // the credentials of the server, for all callers
	CredentialsPerUser Credentials = "per-user" // the credentials of each user; those of the server only list tools
)

// Views is whether generated App views are made for tools without an App.
type Views string

// The choices of generated App views.
const (
	ViewsOn  Views = "on"
	ViewsOff Views = "off"
)

// Home is where the command of a stdio server runs if there are several
// replicas.
type Home string

// The choices of home.
const (
	HomeEach Home = "each" // on each replica that receives a call
	HomeOne  Home = "one"  // on one replica, to which the others forward calls
)

// Masked stands for a sealed credential in shown values. In a change, it keeps
// the stored credential.
const Masked = "***"

// Connection is how an upstream server is reached. It never contains a
// credential: in its place is Masked, or a reference to read it from at use
// (env:NAME, file:/path, cmd:program args).
//
// The tags are those of Field: the settings file, the API, diffs, flags and the console
// follow from them. A new field also needs its use, and docs/guides/servers.md.
type Connection struct {
	Transport Transport         `json:"transport,omitempty" enum:"http,sse,stdio" flag:"transport" public:"true" doc:"Transport to the server: http (Streamable HTTP), sse (HTTP+SSE of 2024-11-05) or stdio (a command). By default http for a URL, and stdio for a command."`
	URL       string            `json:"url,omitempty" maxLength:"4096" text:"url" flag:"url URL" doc:"URL of the server, for http and sse. Its query is stored encrypted, like a credential."`
	Command   []string          `json:"command,omitempty" maxItems:"256" doc:"Program and arguments, for stdio; they are not passed through a shell. Only the operator can set them, or an admin if Junctor runs with --allow-commands. Words that look like secrets are shown as ***; if sent back, *** keeps the stored words."`
	Cwd       string            `json:"cwd,omitempty" maxLength:"4096" flag:"cwd directory" doc:"Working directory of a command."`
	Env       map[string]string `json:"env,omitempty" names:"variable" flag:"env NAME=value" doc:"Environment variables of a command. Values are stored encrypted, like credentials; *** keeps the stored value."`
	Auth      *Auth             `json:"auth,omitempty" doc:"Authentication of Junctor at the server."`
	Headers   map[string]string `json:"headers,omitempty" names:"header" flag:"header 'Name: value'" doc:"Headers of every request to the server. Values are stored encrypted, like credentials; *** keeps the stored value."`

	Credentials Credentials `json:"credentials,omitempty" enum:"shared,per-user" empty:"shared" flag:"credentials" public:"true" doc:"Credentials for calls: shared (the server's own) or per-user (those of each user; the server's own are used only to list tools, resources and prompts)."`
	Isolation   Isolation   `json:"isolation,omitempty" enum:"shared,session,user" flag:"isolation" public:"true" doc:"Sharing of connections to the server: shared (one for all), session (one for each client) or user (one for each key)."`
	MaxSessions int         `json:"max_sessions,omitempty" minimum:"0" maximum:"10000" flag:"max-sessions number" public:"true" doc:"Maximum number of connections, or of processes of a command, at a time. 0 is the default: 128 connections, 16 shared processes, or 64 processes that are not shared."`

	CallTimeout    Duration `json:"call_timeout,omitempty" shortest:"1ms" longest:"24h" flag:"call-timeout duration" public:"true" reconnect:"no" doc:"Maximum time of a call without a response or progress notification, such as 5m. By default --call-timeout of the instance."`
	CallTimeoutMax Duration `json:"call_timeout_max,omitempty" shortest:"1ms" longest:"168h" flag:"call-timeout-max duration" public:"true" reconnect:"no" doc:"Maximum total time of a call, including progress, such as 1h. By default --call-timeout-max of the instance."`

	Views Views `json:"views,omitempty" enum:"on,off" flag:"views" public:"true" reconnect:"no" doc:"Generated App views for the results of tools without an App: on or off. By default on; off for built-in servers."`
	Home  Home  `json:"home,omitempty" enum:"each,one" empty:"each" flag:"home" public:"true" doc:"Replicas that run a command: each (every replica) or one (the other replicas forward calls to it). By default each."`

	// BelieveAnnotations makes the annotations of the server's tools count:
	// readOnlyHint skips approvals and idempotentHint allows retries. They are
	// unverified claims of the server or of a document's author, so only an
	// admin or the operator can set it. Annotations of built-in servers always
	// count.
	BelieveAnnotations bool `json:"believe_annotations,omitempty" flag:"believe-annotations" reconnect:"no" doc:"Trust the annotations of its tools: tools with readOnlyHint need no approval, and tools with readOnlyHint or idempotentHint are retried after a failure. Only the operator or an admin can set it. By default off."`

	Overrides map[string]Override `json:"overrides,omitempty" public:"true" reconnect:"no" doc:"Changes to tools, by the tool's name at the server: hide it, rename it, replace its description, set its timeouts, or state what it does (read_only, destructive, idempotent, open_world and tags: only the operator or an admin can set them)."`
}

// DifferentFields lists the fields in which two connections differ in effect: an auth of
// the type none is the same as no auth.
func (c *Connection) DifferentFields(other *Connection) []Field {
	effective := func(c *Connection) *Connection {
		if c.Auth == nil || *c.Auth != (Auth{Type: AuthNone}) {
			return c
		}
		without := *c
		without.Auth = nil
		return &without
	}
	return DifferentFields(effective(c), effective(other))
}

// PerUser reports whether calls use the credentials of each user.
func (c *Connection) PerUser() bool { return c.Credentials == CredentialsPerUser }

// LogsIn reports whether users log in to the server with OAuth.
func (c *Connection) LogsIn() bool { return c.Auth != nil && c.Auth.Type == AuthOAuth }

// Auth is how Junctor authenticates at a server. Its tags are those of Field.
type Auth struct {
	Type     AuthType `json:"type" enum:"none,bearer,api-key,basic,oauth-client,oauth"`
	Username string   `json:"username,omitempty" doc:"User name, for basic."`
	ClientID string   `json:"client_id,omitempty" doc:"Client ID, for oauth-client; for oauth if a client was registered manually."`
	TokenURL string   `json:"token_url,omitempty" text:"url" doc:"Token endpoint URL, for oauth-client."`
	Scope    string   `json:"scope,omitempty" doc:"Scopes to request, for oauth-client; for oauth if they differ from the scopes that the server names."`
	Issuer   string   `json:"issuer,omitempty" text:"url" doc:"Only authorization server to use, for oauth and oauth-client."`

	// ClientAuth is how the client of oauth and oauth-client authenticates; ""
	// is by its secret.
	ClientAuth ClientAuth `json:"client_auth,omitempty" enum:"private-key-jwt" doc:"Client authentication, for oauth and oauth-client: private-key-jwt if the secret is the client's private key in PEM and the client signs an assertion with it."`
	Header     string     `json:"header,omitempty" doc:"Header of the key, for api-key. By default X-API-Key."`
	Secret     string     `json:"secret,omitempty" maxLength:"65536" format:"password" doc:"Secret of the authentication type, such as a password, token, key or client secret; *** keeps the stored one."` // Masked, or a reference

	// Grant is the grant with which the client of oauth-client gets its token;
	// "" is client credentials.
	Grant       OAuthGrant  `json:"grant,omitempty" enum:"jwt-bearer,token-exchange,enterprise" doc:"Grant type, for oauth-client. By default client credentials."`
	Subject     string      `json:"subject,omitempty" maxLength:"65536" format:"password" doc:"Assertion, token to exchange, or the user's identity token, if a grant is set."` // Masked, or a reference
	SubjectType SubjectType `json:"subject_type,omitempty" enum:"access_token,id_token,refresh_token,jwt" doc:"Type of the exchanged token, for token-exchange. By default access_token."`
	Audience    string      `json:"audience,omitempty" doc:"Audience of the new token, for token-exchange."`

	// The identity provider of the grant enterprise.
	IDPTokenURL string `json:"idp_token_url,omitempty" text:"url" doc:"Token endpoint URL of the identity provider that exchanges the identity token, for enterprise."`
	IDPClientID string `json:"idp_client_id,omitempty" doc:"Client ID at the identity provider, for enterprise."`
	IDPSecret   string `json:"idp_secret,omitempty" maxLength:"65536" format:"password" doc:"Secret of the client at the identity provider, for enterprise. If absent, the client is public."` // Masked, or a reference; "" is a public client
}

// OAuthGrant is the grant type with which an OAuth client gets a token.
type OAuthGrant string

// The grants that work without a user.
const (
	GrantJWTBearer     OAuthGrant = "jwt-bearer"     // an assertion of a third party, such as a workload identity (RFC 7523)
	GrantTokenExchange OAuthGrant = "token-exchange" // another token (RFC 8693)
	GrantEnterprise    OAuthGrant = "enterprise"     // an identity assertion of the user's identity provider (enterprise-managed authorization)
)

// SubjectType is the type of the exchanged token: the last word of its URN in
// RFC 8693.
type SubjectType string

// The kinds of tokens.
const (
	SubjectAccessToken  SubjectType = "access_token"
	SubjectIDToken      SubjectType = "id_token"
	SubjectRefreshToken SubjectType = "refresh_token"
	SubjectJWT          SubjectType = "jwt"
)

// ClientAuth is how an OAuth client proves itself.
type ClientAuth string

// ClientAuthKey is by a statement that it signs with its private key, in PEM,
// which stands in the place of its secret.
const ClientAuthKey ClientAuth = "private-key-jwt"

// Override changes how a tool is shown. Its tags are those of Field.
type Override struct {
	Hide        bool   `json:"hide,omitempty" flag:"hide TOOL" doc:"Hide the tool from all callers."`
	Name        string `json:"name,omitempty" flag:"rename TOOL=NAME" doc:"Name that clients see instead of the tool's own."`
	Description string `json:"description,omitempty" flag:"describe TOOL=TEXT" doc:"Description that clients see instead of the tool's own."`

	// The limits of its calls, in place of those of the server.
	CallTimeout    Duration `json:"call_timeout,omitempty" shortest:"1ms" longest:"24h" flag:"tool-call-timeout TOOL=TIME" doc:"Maximum time of a call of the tool without a response or progress notification, instead of the server's limit."`
	CallTimeoutMax Duration `json:"call_timeout_max,omitempty" shortest:"1ms" longest:"168h" flag:"tool-call-timeout-max TOOL=TIME" doc:"Maximum total time of a call of the tool, instead of the server's limit."`

	// What the tool does, whatever its server says of it. Rules, approvals and retries
	// use it. Like BelieveAnnotations, only an admin or the operator can set it.
	ReadOnly    *bool    `json:"read_only,omitempty" flag:"read-only TOOL" doc:"Whether the tool changes nothing. Calls of a read-only tool need no approval and can be retried."`
	Destructive *bool    `json:"destructive,omitempty" flag:"destructive TOOL" doc:"Whether the tool can delete or overwrite something."`
	Idempotent  *bool    `json:"idempotent,omitempty" flag:"idempotent TOOL" doc:"Whether repeating a call changes nothing more. Calls of an idempotent tool can be retried."`
	OpenWorld   *bool    `json:"open_world,omitempty" flag:"open-world TOOL" doc:"Whether the tool reaches systems outside, such as the web."`
	Tags        []string `json:"tags,omitempty" maxItems:"20" flag:"tool-tag TOOL=TAG" doc:"Tags of the tool, which rules can read."`
}

// ServerStatus is the current state of a server's connection, from its last
// answers.
type ServerStatus struct {
	Connected       bool      `json:"connected"`
	Era             string    `json:"era,omitempty"`      // modern or legacy; absent until it has answered
	Protocol        string    `json:"protocol,omitempty"` // negotiated protocol version
	Name            string    `json:"name,omitempty"`     // name that the server reports
	Release         string    `json:"release,omitempty"`
	LatencyMS       float64   `json:"latency_ms,omitempty"`
	LastSeen        string    `json:"last_seen,omitempty"` // RFC 3339
	Tools           int       `json:"tools"`
	Resources       int       `json:"resources"`
	Templates       int       `json:"templates"`
	Prompts         int       `json:"prompts"`
	Sessions        int       `json:"sessions"`
	Parked          int       `json:"parked"`
	Processes       int       `json:"processes,omitempty"`        // running processes of a command
	Isolation       Isolation `json:"isolation,omitempty"`        // effective isolation: as set, or stricter if the server proved to need it
	IsolationReason string    `json:"isolation_reason,omitempty"` // why the effective isolation differs from the set one
	Stderr          []string  `json:"stderr,omitempty"`           // last lines of standard error of a command
}

// Probe is the result of an attempt to reach a server.
type Probe struct {
	Passed []string `json:"passed"`           // steps, in order
	Failed string   `json:"failed,omitempty"` // the failed step; absent if all passed
	Reason string   `json:"reason,omitempty"`
	Hint   string   `json:"hint,omitempty"`
	Called string   `json:"called,omitempty"` // tool that the test of a generated server called
	// Skipped is why the test of a generated server sent no request; absent if it sent
	// one, or failed before.
	Skipped string       `json:"skipped,omitempty"`
	Status  ServerStatus `json:"status"`
	Tools   []string     `json:"tools,omitempty"` // names of the tools

	Preview []ToolPreview `json:"preview,omitempty"` // of each tool
}

type stepKey struct{}

// OnStep returns a context whose StepPassed calls passed, for each step of a
// probe or of reading a document. passed may be called from any goroutine, even
// after the operation has returned.
func OnStep(ctx context.Context, passed func(step string)) context.Context {
	return context.WithValue(ctx, stepKey{}, passed)
}

// StepPassed reports a step to the function that OnStep set, if any.
func StepPassed(ctx context.Context, step string) {
	if passed, ok := ctx.Value(stepKey{}).(func(string)); ok {
		passed(step)
	}
}

// ToolPreview is a tool of a server that has not been added yet.
type ToolPreview struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Tokens      int    `json:"tokens"` // estimated size of the definition, in tokens
}

// ProbeError is why a server was not added or changed: the probe failed. It
// carries the steps that were passed.
type ProbeError struct {
	Err   *Error
	Probe Probe
}

// Error returns the message of the underlying error.
func (e *ProbeError) Error() string { return e.Err.Message }

// Unwrap returns the underlying error, for errors.As.
func (e *ProbeError) Unwrap() error { return e.Err }
