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

// scopeAnyone is the class of operations that require a valid credential and no scope.
const scopeAnyone junctor.Scope = ""

// scopeOperator is the class of operations that concern the whole instance, and so every
// tenant. They require the scope admin in the default tenant.
const scopeOperator junctor.Scope = "operator"

// scopeBrowser is the class of operations that require a user's browser login. A key or a
// token may be in the hands of a program, and must never become something to sign in with.
const scopeBrowser junctor.Scope = "browser"

// scopeConversation is the class of operations that show the messages of a room. They
// require one of two scopes: tools:call, which takes part in rooms, or audit:read, which
// reads payloads elsewhere.
const scopeConversation junctor.Scope = "conversation"

// lastingOperations lists the operations that make a credential without an expiry: one to
// sign in with, or an admin key of a tenant. A caller whose own credential expires is
// refused, because the new credential would outlive it.
func lastingOperations() []string {
	return []string{"put-user-password", "create-user-link", "create-tenant", "replace-tenant-key"}
}

// requiredScopes returns the scope that each operation requires. An operation that is
// missing here is refused to everybody, and a test fails.
func requiredScopes() map[string]junctor.Scope {
	return map[string]junctor.Scope{
		"list-servers":         junctor.ScopeToolsRead,
		"list-server-health":   junctor.ScopeToolsRead,
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
		"list-tools":           scopeAnyone, // the catalog shows only tools that the caller may see
		"get-tool":             scopeAnyone,
		"call-tool":            scopeAnyone, // the pipeline judges, so that a refusal is on record
		"run":                  scopeAnyone,
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

		"get-app":               scopeAnyone, // likewise
		"approve-app":           junctor.ScopeServersWrite,
		"revoke-app":            junctor.ScopeServersWrite,
		"open-view":             scopeAnyone, // likewise
		"list-views":            scopeAnyone, // one's own, of this session
		"get-view":              scopeAnyone,
		"close-view":            scopeAnyone,
		"view-rpc":              scopeAnyone,
		"view-mail":             scopeAnyone,
		"answer-view-mail":      scopeAnyone,
		"list-view-tools":       scopeAnyone, // of one's own Views
		"call-view-tool":        scopeAnyone, // the pipeline judges
		"add-view-log":          scopeAnyone,
		"get-view-log":          scopeAnyone,
		"put-tool-tag":          junctor.ScopeServersWrite,
		"delete-tool-tag":       junctor.ScopeServersWrite,
		"list-tool-changes":     junctor.ScopeToolsRead,
		"list-roles":            junctor.ScopeToolsRead,
		"put-role":              junctor.ScopeAdmin,
		"delete-role":           junctor.ScopeAdmin,
		"list-agents":           junctor.ScopeToolsRead,
		"get-agent":             junctor.ScopeToolsRead,
		"list-agent-tools":      junctor.ScopeToolsRead,
		"create-agent":          junctor.ScopeAgentsWrite,
		"patch-agent":           junctor.ScopeAgentsWrite,
		"delete-agent":          junctor.ScopeAgentsWrite,
		"list-keys":             junctor.ScopeKeysWrite,
		"create-key":            junctor.ScopeKeysWrite,
		"rotate-key":            junctor.ScopeKeysWrite,
		"delete-key":            junctor.ScopeKeysWrite,
		"list-users":            junctor.ScopeAdmin,
		"create-user":           junctor.ScopeAdmin,
		"get-user":              junctor.ScopeAdmin,
		"patch-user":            junctor.ScopeAdmin,
		"delete-user":           junctor.ScopeAdmin,
		"put-user-password":     junctor.ScopeAdmin,
		"create-user-link":      junctor.ScopeAdmin,
		"list-logins":           scopeAnyone, // of others, to admins alone; one's own, not with a narrow key
		"delete-login":          scopeAnyone,
		"list-consents":         scopeAnyone, // likewise
		"delete-consent":        scopeAnyone,
		"list-chains":           junctor.ScopeAuditRead,
		"list-chain-events":     junctor.ScopeAuditRead,
		"list-chain-agents":     junctor.ScopeAuditRead,
		"find-chain-agent":      junctor.ScopeServersWrite,
		"rewind-chain":          scopeOperator, // chains are declared by the operator
		"list-tenants":          scopeOperator,
		"create-tenant":         scopeOperator,
		"replace-tenant-key":    scopeOperator,
		"get-me":                scopeAnyone,
		"put-my-sources":        junctor.ScopeToolsRead, // one's own catalog scope
		"put-my-password":       scopeBrowser,
		"list-calls":            junctor.ScopeAuditRead,
		"tail-calls":            junctor.ScopeAuditRead,
		"list-history":          junctor.ScopeAuditRead,
		"export-calls":          junctor.ScopeAuditRead,
		"get-call":              junctor.ScopeAuditRead,
		"get-usage":             junctor.ScopeAuditRead,
		"get-metrics":           junctor.ScopeAuditRead,
		"get-delivery-metrics":  junctor.ScopeAuditRead,
		"get-server-outages":    junctor.ScopeAuditRead,
		"list-attention":        junctor.ScopeAuditRead,
		"send-event":            junctor.ScopeEventsSend,
		"list-events":           junctor.ScopeAuditRead,
		"get-event":             junctor.ScopeAuditRead,
		"replay-event":          junctor.ScopeAdmin,
		"list-triggers":         junctor.ScopeAuditRead,
		"list-ready-triggers":   junctor.ScopeAuditRead,
		"get-trigger":           junctor.ScopeAuditRead,
		"create-trigger":        junctor.ScopeAdmin, // a trigger calls tools on behalf of every sender of events
		"try-trigger":           junctor.ScopeAdmin,
		"patch-trigger":         junctor.ScopeAdmin,
		"delete-trigger":        junctor.ScopeAdmin,
		"list-sources":          junctor.ScopeAuditRead,
		"get-source":            junctor.ScopeAuditRead,
		"create-source":         junctor.ScopeAdmin,
		"patch-source":          junctor.ScopeAdmin,
		"delete-source":         junctor.ScopeAdmin,
		"list-schedules":        junctor.ScopeAuditRead,
		"list-schedule-times":   junctor.ScopeAuditRead,
		"put-schedule":          junctor.ScopeAdmin,
		"delete-schedule":       junctor.ScopeAdmin,
		"list-rooms":            scopeConversation, // of rooms that the caller is in
		"create-room":           junctor.ScopeToolsCall,
		"get-room":              scopeConversation,
		"patch-room":            junctor.ScopeToolsCall,
		"delete-room":           junctor.ScopeToolsCall,
		"list-messages":         scopeConversation,
		"search-messages":       scopeConversation,
		"export-room":           scopeConversation,
		"list-room-tools":       scopeConversation,
		"list-room-approvals":   scopeConversation,
		"run-room":              junctor.ScopeToolsCall, // a message makes agents call tools
		"stream-room":           scopeConversation,
		"stop-run":              junctor.ScopeToolsCall,
		"report-surface":        junctor.ScopeToolsCall,
		"list-secrets":          junctor.ScopeServersWrite,
		"get-secret":            junctor.ScopeServersWrite,
		"put-secret":            junctor.ScopeServersWrite,
		"delete-secret":         junctor.ScopeServersWrite,
		"rotate-secret":         scopeOperator,
		"get-limits":            scopeAnyone,
		"patch-limits":          junctor.ScopeAdmin,
		"list-settings":         scopeOperator,
		"apply":                 junctor.ScopeServersWrite,
		"export":                junctor.ScopeToolsRead, // the same content as the lists
		"get-settings-file":     scopeOperator,
		"list-packs":            junctor.ScopeToolsRead,
		"plan-pack":             junctor.ScopeServersWrite,
		"add-pack":              junctor.ScopeServersWrite,
		"export-pack":           junctor.ScopeToolsRead,
		"verify-journal":        scopeOperator,
		"export-journal":        scopeOperator,
		"list-changes":          junctor.ScopeAdmin,
		"get-change":            junctor.ScopeAdmin,
		"get-whoami":            scopeAnyone,
		"get-cluster":           scopeOperator,
		"get-version":           scopeAnyone,
		"get-openapi":           scopeAnyone,
		"list-policies":         scopePolicies,
		"get-policy":            scopePolicies,
		"list-policy-templates": scopePolicies,
		"put-policy":            junctor.ScopePolicyWrite,
		"delete-policy":         junctor.ScopePolicyWrite,
		"replace-policies":      junctor.ScopePolicyWrite,
		"check-policies":        junctor.ScopePolicyWrite,
		"simulate-policies":     junctor.ScopePolicyWrite,
		"test-policies":         junctor.ScopePolicyWrite,
		"explain-call":          scopePolicies,
	}
}

// principalKey is the context key of the caller.
type principalKey struct{}

// callerOf returns the principal of a request. admitRequest has put it into the context,
// and no route runs without one.
func callerOf(ctx context.Context) *junctor.Principal {
	p, _ := ctx.Value(principalKey{}).(*junctor.Principal)
	return p
}

// httpRequestKey is the context key of the HTTP request.
type httpRequestKey struct{}

// requestOf returns the HTTP request that a route answers, for the few routes that need
// more of it than huma gives.
func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(httpRequestKey{}).(*http.Request)
	return r
}

// admitRequest is the middleware that lets a request through to its route if the caller is
// known and has the scope that the route requires. It runs before the body is read.
func (a *api) admitRequest(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	p, err := a.Authenticate(r)
	if err == nil && p == nil {
		err = junctor.Errorf(junctor.CodeUnauthenticated, "no credential: send Authorization: Bearer <key>")
	}
	if err == nil {
		err = a.checkScope(p, ctx.Operation().OperationID)
	}
	if err != nil {
		writeProblem(w, a.toProblem(ctx.Context(), err))
		return
	}
	next(huma.WithValue(huma.WithValue(ctx, principalKey{}, p), httpRequestKey{}, r))
}

// checkScope refuses a principal that may not perform an operation. Streams call it again
// while they go on, since scopes may change.
func (a *api) checkScope(p *junctor.Principal, operation string) error {
	scope, known := a.scopes[operation]
	if !known {
		return junctor.Errorf(junctor.CodeInternal, "the route %s declares no required scope", operation)
	}
	if !p.Expires.IsZero() && slices.Contains(lastingOperations(), operation) {
		return junctor.Errorf(junctor.CodeDenied, "this operation creates a credential that outlives the key, which expires at %s; use a browser login, the socket of the instance, or a key without expires_at",
			p.Expires.Format(time.RFC3339))
	}
	switch scope {
	case scopeAnyone:
		return nil
	case scopeOperator:
		if p.Operator() {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this operation concerns the whole instance and requires the scope admin in the tenant %s", junctor.DefaultTenant)
	case scopeBrowser:
		if p.Login != "" {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this operation requires a browser login and accepts no key; sign in at /login, or create a sign-in link with junctor login --user NAME")
	case scopePolicies:
		if p.Has(junctor.ScopePolicyWrite) || p.Has(junctor.ScopeAuditRead) {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this operation requires the scope %s or %s; the credential has %s", junctor.ScopePolicyWrite, junctor.ScopeAuditRead, joinScopes(p.Scopes))
	case scopeConversation:
		if p.Has(junctor.ScopeToolsCall) || p.Has(junctor.ScopeAuditRead) {
			return nil
		}
		return junctor.Errorf(junctor.CodeDenied, "this operation requires the scope %s or %s; the credential has %s", junctor.ScopeToolsCall, junctor.ScopeAuditRead, joinScopes(p.Scopes))
	default:
		if p.Has(scope) {
			return nil
		}
	}
	return junctor.Errorf(junctor.CodeDenied, "this operation requires the scope %s; the credential has %s", scope, joinScopes(p.Scopes))
}

// joinScopes returns a list of scopes for messages.
func joinScopes(scopes []junctor.Scope) string {
	if len(scopes) == 0 {
		return "none"
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
