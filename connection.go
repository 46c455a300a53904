package junctor

import "context"

// Transport is how a bring-your-own server is spoken to.
type Transport string

// The transports.
const (
	TransportHTTP  Transport = "http"  // Streamable HTTP of either era
	TransportSSE   Transport = "sse"   // HTTP+SSE of 2024-11-05
	TransportStdio Transport = "stdio" // a command run here
)

// AuthType is how Junctor proves to a server who it is.
type AuthType string

// The ways to authenticate.
const (
	AuthNone        AuthType = "none"
	AuthBearer      AuthType = "bearer"       // Authorization: Bearer <secret>
	AuthAPIKey      AuthType = "api-key"      // <header>: <secret>
	AuthBasic       AuthType = "basic"        // HTTP Basic with username and secret
	AuthOAuthClient AuthType = "oauth-client" // OAuth client credentials: a token for client_id and secret
	AuthOAuth       AuthType = "oauth"        // OAuth: a person logs in at the server's authorization server
)

// Isolation says who shares a connection to a server.
type Isolation string

// The isolations.
const (
	IsolationShared  Isolation = "shared"  // one for all, until the server needs otherwise
	IsolationSession Isolation = "session" // one for each client: its session, or, where it has none, its principal and its name
	IsolationUser    Isolation = "user"    // one for each party
)

// Credentials says whose credentials a server's calls are made with.
type Credentials string

// Whose credentials they are.
const (
	CredentialsShared  Credentials = "shared"   // the server's own, for everybody
	CredentialsPerUser Credentials = "per-user" // each user's own; the server's own are for its lists alone
)

// Views says whether the tools of a server that have no App of their own are given
// one.
type Views string

// Whether they are.
const (
	ViewsOn  Views = "on"
	ViewsOff Views = "off"
)

// Check refuses what is neither.
func (v Views) Check() error {
	if v != "" && v != ViewsOn && v != ViewsOff {
		return Errorf(CodeInvalid, "unknown views %q; use on or off", string(v))
	}
	return nil
}

// Home says where the command of a server runs, of several replicas.
type Home string

// Where it runs.
const (
	HomeEach Home = "each" // on each of them that is asked for it
	HomeOne  Home = "one"  // on one, which the others send calls on to
)

// Masked stands where a credential is kept apart, sealed. Sent back in a
// change, it means the one that is kept.
const Masked = "***"

// Connection is how a bring-your-own server is reached. It never holds a
// credential: where one belongs there is Masked, or a reference to read it from
// when it is used (env:NAME, file:/path, cmd:program args).
type Connection struct {
	Transport   Transport           `json:"transport,omitempty"`
	URL         string              `json:"url,omitempty"`     // with http and sse
	Command     []string            `json:"command,omitempty"` // with stdio: program and arguments, no shell
	Env         map[string]string   `json:"env,omitempty"`     // with stdio
	Cwd         string              `json:"cwd,omitempty"`     // with stdio
	Auth        *Auth               `json:"auth,omitempty"`
	Headers     map[string]string   `json:"headers,omitempty"`     // beside those of Auth
	Credentials Credentials         `json:"credentials,omitempty"` // whose calls are made with; "" is shared
	Isolation   Isolation           `json:"isolation,omitempty"`
	MaxSessions int                 `json:"max_sessions,omitempty"` // connections, and so processes, at a time; 0 is the usual number
	TimeoutMS   int                 `json:"timeout_ms,omitempty"`   // of a call; 0 is the instance's own
	Views       Views               `json:"views,omitempty"`        // generated Views; "" is on
	Home        Home                `json:"home,omitempty"`         // with stdio, of several replicas; "" is each
	Overrides   map[string]Override `json:"overrides,omitempty"`    // by the tool's own name

	// BelieveAnnotations says that the annotations of the server's tools count:
	// readOnlyHint and idempotentHint then spare approvals and allow retries. They
	// are claims of whoever runs the server, or wrote its document, so only an
	// admin or the operator can set it. Built-in servers are always believed.
	BelieveAnnotations bool `json:"believe_annotations,omitempty"`
}

// PerUser says whether calls are made with the credentials of users.
func (c *Connection) PerUser() bool { return c.Credentials == CredentialsPerUser }

// LogsIn says whether people log in to the server.
func (c *Connection) LogsIn() bool { return c.Auth != nil && c.Auth.Type == AuthOAuth }

// Auth is how Junctor authenticates itself to a server.
type Auth struct {
	Type     AuthType `json:"type"`
	Secret   string   `json:"secret,omitempty"` // Masked, or a reference
	Header   string   `json:"header,omitempty"` // of api-key; X-API-Key where it is not given
	Username string   `json:"username,omitempty"`
	TokenURL string   `json:"token_url,omitempty"`
	ClientID string   `json:"client_id,omitempty"`
	Scope    string   `json:"scope,omitempty"`
	Issuer   string   `json:"issuer,omitempty"` // of oauth and oauth-client: the only authorization server to go to

	// ClientAuth is how the client of oauth and oauth-client proves itself; "" is
	// by its secret.
	ClientAuth ClientAuth `json:"client_auth,omitempty"`

	// Grant is what the client of oauth-client gets its token for; "" is for
	// itself.
	Grant       OAuthGrant  `json:"grant,omitempty"`
	Subject     string      `json:"subject,omitempty"`      // stands for whom the token is for: Masked, or a reference
	SubjectType SubjectType `json:"subject_type,omitempty"` // of token-exchange; "" is an access token
	Audience    string      `json:"audience,omitempty"`     // of token-exchange

	// The identity provider of the grant enterprise.
	IDPTokenURL string `json:"idp_token_url,omitempty"`
	IDPClientID string `json:"idp_client_id,omitempty"`
	IDPSecret   string `json:"idp_secret,omitempty"` // Masked, or a reference; "" is a public client
}

// OAuthGrant is what an OAuth client gets a token for.
type OAuthGrant string

// The grants that need no person.
const (
	GrantJWTBearer     OAuthGrant = "jwt-bearer"     // a statement of somebody else's, as of a workload's platform (RFC 7523)
	GrantTokenExchange OAuthGrant = "token-exchange" // another token (RFC 8693)
	GrantEnterprise    OAuthGrant = "enterprise"     // a person whom an identity provider vouches for (enterprise-managed authorization)
)

// SubjectType is what kind of token is exchanged, in the last word of its name in
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

// Override changes how a tool is shown.
type Override struct {
	Hide        bool   `json:"hide,omitempty"`        // nobody sees it or can call it
	Name        string `json:"name,omitempty"`        // in place of its own
	Description string `json:"description,omitempty"` // in place of its own

	// ReadOnly says that the tool changes nothing, whatever its server says of it:
	// its calls need no approval and may be repeated. Like BelieveAnnotations, only
	// an admin or the operator can set it.
	ReadOnly bool `json:"read_only,omitempty"`
}

// ServerStatus is how a bring-your-own server is doing, as its last answers say.
type ServerStatus struct {
	Connected       bool      `json:"connected"`
	Era             string    `json:"era,omitempty"`      // modern or legacy; absent before it has answered
	Protocol        string    `json:"protocol,omitempty"` // the version that is spoken
	Name            string    `json:"name,omitempty"`     // what it calls itself
	Release         string    `json:"release,omitempty"`
	LatencyMS       float64   `json:"latency_ms,omitempty"`
	LastSeen        string    `json:"last_seen,omitempty"` // RFC 3339
	Tools           int       `json:"tools"`
	Resources       int       `json:"resources"`
	Templates       int       `json:"templates"`
	Prompts         int       `json:"prompts"`
	Sessions        int       `json:"sessions"`
	Parked          int       `json:"parked"`
	Processes       int       `json:"processes,omitempty"`        // of a command
	Isolation       Isolation `json:"isolation,omitempty"`        // as it is held: what was set, or what the server has shown to need
	IsolationReason string    `json:"isolation_reason,omitempty"` // why that is not what was set
	Stderr          []string  `json:"stderr,omitempty"`           // the last lines that a command complained
}

// Probe is what an attempt to reach a server found.
type Probe struct {
	Passed []string     `json:"passed"`           // steps, in order
	Failed string       `json:"failed,omitempty"` // the step that broke; absent when all passed
	Reason string       `json:"reason,omitempty"`
	Hint   string       `json:"hint,omitempty"`
	Status ServerStatus `json:"status"`
	Tools  []string     `json:"tools,omitempty"` // names

	Preview []ToolPreview `json:"preview,omitempty"` // of each tool
}

type stepKey struct{}

// OnStep has passed told of each step of a probe, or of reading a document, when
// it has passed, from any goroutine, perhaps after all has ended.
func OnStep(ctx context.Context, passed func(step string)) context.Context {
	return context.WithValue(ctx, stepKey{}, passed)
}

// StepPassed tells whoever OnStep was called for.
func StepPassed(ctx context.Context, step string) {
	if passed, ok := ctx.Value(stepKey{}).(func(string)); ok {
		passed(step)
	}
}

// ToolPreview is what a tool would be, before its server is added.
type ToolPreview struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Tokens      int    `json:"tokens"` // about what its definition costs a model that is told of it
}

// ProbeError is why a server was not added or changed: it could not be reached
// as it was described.
type ProbeError struct {
	Err   *Error
	Probe Probe
}

func (e *ProbeError) Error() string { return e.Err.Message }

// Unwrap gives the error to errors.As.
func (e *ProbeError) Unwrap() error { return e.Err }
