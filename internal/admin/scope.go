package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
)

// anyone is the class of routes that want a valid credential and no scope.
const anyone junctor.Scope = ""

// operator is the class of routes that concern the instance and so every
// tenant: they are for admins of the default one.
const operator junctor.Scope = "operator"

// browser is the class of routes that take a person's browser login and nothing
// else. A key or a token may be in the hands of a program: it must never become
// what a person signs in with.
const browser junctor.Scope = "browser"

// conversation is the class of routes that show the messages of a room. They need
// one of two scopes: tools:call, which takes part in rooms, or audit:read, which
// reads payloads elsewhere.
const conversation junctor.Scope = "conversation"

// outlasts names the operations that make a credential without an end: one to sign
// in with, or an admin key of a tenant. A caller whose own credential expires is
// refused, since what it makes would outlive it.
func outlasts() []string {
	return []string{"put-user-password", "create-user-link", "create-tenant", "replace-tenant-key"}
}

// scopes says what each operation needs. An operation that is not here is
// refused to everybody, and a test fails.
func scopes() map[string]junctor.Scope {
	return map[string]junctor.Scope{
		"list-servers":         junctor.ScopeToolsRead,
		"get-server":           junctor.ScopeToolsRead,
		"get-server-offer":     junctor.ScopeToolsRead,
		"create-server":        junctor.ScopeServersWrite,
		"probe-server":         junctor.ScopeServersWrite,
		"preview-server":       junctor.ScopeServersWrite,
		"follow-preview":       junctor.ScopeServersWrite,
		"fetch-document":       junctor.ScopeServersWrite,
		"import-document":      junctor.ScopeServersWrite,
		"get-document":         junctor.ScopeServersWrite,
		"validate-server":      junctor.ScopeServersWrite,
		"list-suggestions":     junctor.ScopeServersWrite,
		"make-suggestions":     junctor.ScopeServersWrite,
		"follow-suggestions":   junctor.ScopeServersWrite,
		"approve-suggestions":  junctor.ScopeServersWrite,
		"reject-suggestions":   junctor.ScopeServersWrite,
		"test-server":          junctor.ScopeServersWrite,
		"follow-probe":         junctor.ScopeServersWrite,
		"follow-test":          junctor.ScopeServersWrite,
		"enable-server":        junctor.ScopeServersWrite,
		"disable-server":       junctor.ScopeServersWrite,
		"patch-server":         junctor.ScopeServersWrite,
		"delete-server":        junctor.ScopeServersWrite,
		"list-my-credentials":  junctor.ScopeToolsCall, // one's own, for one's own calls
		"get-my-credential":    junctor.ScopeToolsCall,
		"put-my-credential":    junctor.ScopeToolsCall,
		"delete-my-credential": junctor.ScopeToolsCall,
		"start-server-login":   junctor.ScopeToolsCall, // one's own; everybody's takes more
		"finish-server-login":  junctor.ScopeToolsCall,
		"get-server-login":     junctor.ScopeToolsCall,
		"delete-server-login":  junctor.ScopeToolsCall,
		"list-server-traces":   junctor.ScopeToolsCall,
		"list-deliveries":      junctor.ScopeAuditRead,
		"get-delivery":         junctor.ScopeAuditRead,
		"change-deliveries":    junctor.ScopeAdmin,
		"list-endpoints":       junctor.ScopeAuditRead,
		"start-endpoint":       junctor.ScopeAdmin,
		"stop-endpoint":        junctor.ScopeAdmin,
		"list-agent-tokens":    junctor.ScopeAdmin,
		"put-agent-token":      junctor.ScopeAdmin,
		"delete-agent-token":   junctor.ScopeAdmin,
		"list-tools":           anyone, // the catalogue shows what the caller may see
		"get-tool":             anyone,
		"call-tool":            anyone, // the pipeline judges, so that a refusal is on record
		"run":                  anyone,
		"run-agent":            junctor.ScopeToolsCall, // as the agent: its owner, an admin, or it itself
		"list-models":          junctor.ScopeAgentsWrite,
		"get-model":            junctor.ScopeAgentsWrite,
		"create-model":         junctor.ScopeAdmin,
		"patch-model":          junctor.ScopeAdmin,
		"delete-model":         junctor.ScopeAdmin,
		"test-model":           junctor.ScopeAdmin,
		"list-apps":            junctor.ScopeToolsRead,

		"list-component-catalogs":  junctor.ScopeToolsRead,
		"get-component-catalog":    junctor.ScopeToolsRead,
		"put-component-catalog":    junctor.ScopeAdmin,
		"delete-component-catalog": junctor.ScopeAdmin,

		"get-app":             anyone, // likewise
		"approve-app":         junctor.ScopeServersWrite,
		"revoke-app":          junctor.ScopeServersWrite,
		"open-view":           anyone, // likewise
		"list-views":          anyone, // one's own, of this session
		"get-view":            anyone,
		"close-view":          anyone,
		"view-rpc":            anyone,
		"view-mail":           anyone,
		"answer-view-mail":    anyone,
		"list-view-tools":     anyone, // of one's own Views
		"call-view-tool":      anyone, // the pipeline judges
		"add-view-log":        anyone,
		"get-view-log":        anyone,
		"put-tool-tag":        junctor.ScopeServersWrite,
		"delete-tool-tag":     junctor.ScopeServersWrite,
		"list-tool-changes":   junctor.ScopeToolsRead,
		"list-roles":          junctor.ScopeToolsRead,
		"put-role":            junctor.ScopeAdmin,
		"delete-role":         junctor.ScopeAdmin,
		"list-agents":         junctor.ScopeToolsRead,
		"get-agent":           junctor.ScopeToolsRead,
		"list-agent-tools":    junctor.ScopeToolsRead,
		"create-agent":        junctor.ScopeAgentsWrite,
		"patch-agent":         junctor.ScopeAgentsWrite,
		"delete-agent":        junctor.ScopeAgentsWrite,
		"list-keys":           junctor.ScopeKeysWrite,
		"create-key":          junctor.ScopeKeysWrite,
		"rotate-key":          junctor.ScopeKeysWrite,
		"delete-key":          junctor.ScopeKeysWrite,
		"list-users":          junctor.ScopeAdmin,
		"create-user":         junctor.ScopeAdmin,
		"get-user":            junctor.ScopeAdmin,
		"patch-user":          junctor.ScopeAdmin,
		"delete-user":         junctor.ScopeAdmin,
		"put-user-password":   junctor.ScopeAdmin,
		"create-user-link":    junctor.ScopeAdmin,
		"list-logins":         anyone, // of others, to admins alone; one's own, not with a narrow key
		"delete-login":        anyone,
		"list-consents":       anyone, // likewise
		"delete-consent":      anyone,
		"list-chains":         junctor.ScopeAuditRead,
		"list-chain-events":   junctor.ScopeAuditRead,
		"list-chain-agents":   junctor.ScopeAuditRead,
		"find-chain-agent":    junctor.ScopeServersWrite,
		"rewind-chain":        operator, // as the file that declares chains is
		"list-tenants":        operator,
		"create-tenant":       operator,
		"replace-tenant-key":  operator,
		"get-me":              anyone,
		"put-my-sources":      junctor.ScopeToolsRead, // one's own catalog scope
		"put-my-password":     browser,
		"list-calls":          junctor.ScopeAuditRead,
		"tail-calls":          junctor.ScopeAuditRead,
		"list-history":        junctor.ScopeAuditRead,
		"export-calls":        junctor.ScopeAuditRead,
		"get-call":            junctor.ScopeAuditRead,
		"get-usage":           junctor.ScopeAuditRead,
		"send-event":          junctor.ScopeEventsSend,
		"list-events":         junctor.ScopeAuditRead,
		"get-event":           junctor.ScopeAuditRead,
		"replay-event":        junctor.ScopeAdmin,
		"list-triggers":       junctor.ScopeAuditRead,
		"list-ready-triggers": junctor.ScopeAuditRead,
		"get-trigger":         junctor.ScopeAuditRead,
		"create-trigger":      junctor.ScopeAdmin, // a trigger calls tools for whoever sends an event
		"try-trigger":         junctor.ScopeAdmin,
		"patch-trigger":       junctor.ScopeAdmin,
		"delete-trigger":      junctor.ScopeAdmin,
		"list-sources":        junctor.ScopeAuditRead,
		"get-source":          junctor.ScopeAuditRead,
		"create-source":       junctor.ScopeAdmin,
		"patch-source":        junctor.ScopeAdmin,
		"delete-source":       junctor.ScopeAdmin,
		"list-schedules":      junctor.ScopeAuditRead,
		"list-schedule-times": junctor.ScopeAuditRead,
		"put-schedule":        junctor.ScopeAdmin,
		"delete-schedule":     junctor.ScopeAdmin,
		"list-workspaces":     conversation, // of rooms that the caller is in
		"create-workspace":    junctor.ScopeToolsCall,
		"get-workspace":       conversation,
		"patch-workspace":     junctor.ScopeToolsCall,
		"delete-workspace":    junctor.ScopeToolsCall,
		"list-messages":       conversation,
		"search-messages":     conversation,
		"export-workspace":    conversation,
		"list-room-tools":     conversation,
		"list-room-approvals": conversation,
		"run-workspace":       junctor.ScopeToolsCall, // what agents do follows from what is said
		"stream-workspace":    conversation,
		"stop-run":            junctor.ScopeToolsCall,
		"report-surface":      junctor.ScopeToolsCall,
		"list-secrets":        junctor.ScopeServersWrite,
		"get-secret":          junctor.ScopeServersWrite,
		"put-secret":          junctor.ScopeServersWrite,
		"delete-secret":       junctor.ScopeServersWrite,
		"rotate-secret":       operator,
		"get-limits":          anyone,
		"patch-limits":        junctor.ScopeAdmin,
		"list-settings":       operator,
		"apply":               junctor.ScopeServersWrite,
		"export":              junctor.ScopeToolsRead, // what lists show, in one text
		"get-settings-file":   operator,
		"list-packs":          junctor.ScopeToolsRead,
		"plan-pack":           junctor.ScopeServersWrite,
		"add-pack":            junctor.ScopeServersWrite,
		"export-pack":         junctor.ScopeToolsRead,
		"verify-journal":      operator,
		"export-journal":      operator,
		"get-whoami":          anyone,
		"get-cluster":         operator,
		"get-version":         anyone,
		"get-openapi":         anyone,
	}
}

type principalKey struct{}

// caller is who asks; admit has put them there, and no route runs without.
func caller(ctx context.Context) *junctor.Principal {
	p, _ := ctx.Value(principalKey{}).(*junctor.Principal)
	return p
}

type httpRequestKey struct{}

// httpRequest is the request that a route answers; admit has put it there.
func httpRequest(ctx context.Context) *http.Request {
	r, _ := ctx.Value(httpRequestKey{}).(*http.Request)
	return r
}

// admit lets a request through to its route when the caller is known and
// carries the scope that the route needs. It runs before the body is read.
func (a *api) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	p, err := a.Authenticate(r)
	if err == nil && p == nil {
		err = junctor.Errorf(junctor.CodeUnauthenticated, "no credential: send Authorization: Bearer <key>")
	}
	if err == nil {
		err = allowed(p, ctx.Operation().OperationID)
	}
	if err != nil {
		writeProblem(w, a.problem(ctx.Context(), err))
		return
	}
	next(huma.WithValue(huma.WithValue(ctx, principalKey{}, p), httpRequestKey{}, r))
}

func allowed(p *junctor.Principal, operation string) error {
	scope, known := scopes()[operation]
	if !known {
		return junctor.Errorf(junctor.CodeInternal, "the route %s says not what it needs", operation)
	}
	if !p.Expires.IsZero() && slices.Contains(outlasts(), operation) {
		return junctor.Errorf(junctor.CodeDenied, "this makes a credential that would outlive the key, which expires at %s: use a browser login, the socket of the instance, or a key without expires_at",
			p.Expires.Format(time.RFC3339))
	}
	switch scope {
	case anyone:
		return nil
	case operator:
		if p.Operator() {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this concerns the whole instance: it needs the scope admin in the tenant %s", junctor.DefaultTenant)
	case browser:
		if p.Login != "" {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this is for users with a browser login, and no key can do it: sign in at /login; junctor login --user NAME makes a link to sign in with")
	case conversation:
		if p.Has(junctor.ScopeToolsCall) || p.Has(junctor.ScopeAuditRead) {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this needs the scope %s or %s; the credential has %s", junctor.ScopeToolsCall, junctor.ScopeAuditRead, list(p.Scopes))
	default:
		if p.Has(scope) {
			return nil
		}
	}
	return junctor.Errorf(junctor.CodeDenied, "this needs the scope %s; the credential has %s", scope, list(p.Scopes))
}

func list(scopes []junctor.Scope) string {
	if len(scopes) == 0 {
		return "none"
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
