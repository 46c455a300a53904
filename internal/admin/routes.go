package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// api holds the registered routes and the parts that they use.
type api struct {
	Options
	mux    *http.ServeMux
	huma   huma.API
	routes []string // "METHOD /path" of each
	// scopes holds requiredScopes and changes holds changeSpecs, which would cost each request,
	// and each step of a stream, a new map.
	scopes  map[string]junctor.Scope
	changes map[string]changeSpec

	// gzips holds writers for compress: each has tables of several hundred kilobytes.
	gzips sync.Pool

	// gallery reads the packs of the binary, once.
	gallery func() ([]*pack.Pack, error)
	// referencePage renders the page of ServeReference, once.
	referencePage func() ([]byte, error)
}

// page is the body of every list. Its name is part of schema names in the OpenAPI
// document.
type page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Value of the parameter cursor for the next page. Absent on the last page."`
	// Total is nil where counting would cost more than the page.
	Total          *int `json:"total,omitempty" nullable:"false" doc:"Number of items on all pages, of those that the caller may see."`
	TotalIsMinimum bool `json:"total_is_minimum,omitempty" doc:"Whether there are at least total items. Counting stops there."`
}

// pageResponse is the answer of every list.
type pageResponse[T any] struct{ Body page[T] }

// newPage returns a page whose items are never null in JSON.
func newPage[T any](items []T, next string) *pageResponse[T] {
	if items == nil {
		items = []T{}
	}
	return &pageResponse[T]{Body: page[T]{Items: items, Next: next}}
}

// empty is a request or an answer without members.
type empty struct{}

// newAPI registers all routes. A new file of routes has to be added here, and its
// operations to requiredScopes.
func newAPI(o Options) *api {
	a := newAPIWithoutRoutes(o)
	a.registerServerRoutes()
	a.registerCredentialRoutes()
	a.registerOfferRoutes()
	a.registerDocumentRoutes()
	a.registerSuggestionRoutes()
	a.registerServerLoginRoutes()
	a.registerChainRoutes()
	a.registerToolRoutes()
	a.registerRunRoutes()
	a.registerAppRoutes()
	a.registerViewRoutes()
	a.registerTagRoutes()
	a.registerAgentRoutes()
	a.registerModelRoutes()
	a.registerComponentCatalogRoutes()
	a.registerTalkRoutes()
	a.registerKeyRoutes()
	a.registerUserRoutes()
	a.registerLoginRoutes()
	a.registerConsentRoutes()
	a.registerTenantRoutes()
	a.registerMeRoutes()
	a.registerCallRoutes()
	a.registerTailRoutes()
	a.registerHistoryRoutes()
	a.registerSeriesRoutes()
	a.registerAttentionRoutes()
	a.registerEventRoutes()
	a.registerLimitRoutes()
	a.registerPolicyRoutes()
	a.registerSecretRoutes()
	a.registerAboutRoutes()
	a.registerApplyRoutes()
	a.registerPackRoutes()
	a.registerJournalRoutes()
	a.registerChangeRoutes()
	a.registerClusterRoutes()
	a.registerDeliveryRoutes()
	a.registerEndpointRoutes()
	a.registerRoomRoutes()
	a.referencePage = sync.OnceValues(a.renderReference)
	return a
}

// newAPIWithoutRoutes returns an API that has no operations yet.
func newAPIWithoutRoutes(o Options) *api {
	a := &api{Options: o, mux: http.NewServeMux(), scopes: requiredScopes(), changes: changeSpecs(), gallery: sync.OnceValues(pack.Gallery)}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	describeTypes(registry)
	a.huma = humago.NewWithPrefix(a.mux, Prefix, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Junctor admin API",
				Version:     o.Version,
				Description: "Lists are {items, next, total}; errors are RFC 9457 problems with a code; all times are RFC 3339.",
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"key":   {Type: "http", Scheme: "bearer", Description: "A key of this instance. Each operation names the scope that it requires."},
					"login": {Type: "apiKey", In: "cookie", Name: "__Host-junctor-session", Description: "The session of a browser that is signed in at /login. If the address of the instance has a port, the name ends with it, as in __Host-junctor-session-8717."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transformError},
	})
	a.huma.UseMiddleware(a.admitRequest)
	return a
}

// jsonFormat reads bodies strictly and writes them as encoding/json does. Strict means
// that members are case-sensitive, and that duplicate and unknown members are refused: two
// readers must never read a request differently.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(v)
		},
		Unmarshal: unmarshalStrictly,
	}
}

// unmarshalStrictly reads a body as jsonFormat says.
func unmarshalStrictly(data []byte, v any) error {
	return strict.Unmarshal(data, v, strict.RejectUnknownMembers(true))
}

// registerRoute registers one operation. The compiler writes it once for each pair of
// types, so it does nothing but forget them.
func registerRoute[I, O any](a *api, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	a.registerUntyped(op, reflect.TypeFor[I](), reflect.TypeFor[O](), func(ctx context.Context, in any) (any, error) { return do(ctx, in.(*I)) }) //nolint:forcetypeassert // registerOperation makes it
}

// untypedOperation performs an operation. in points to a request, and the result is a
// pointer to an answer.
type untypedOperation func(ctx context.Context, in any) (any, error)

// registerUntyped registers one operation. It documents the scope that requiredScopes names
// for the operation, refuses If-Match where the operation compares no versions, and turns
// errors into problems.
func (a *api) registerUntyped(op huma.Operation, request, answer reflect.Type, do untypedOperation) {
	var needs []string
	switch scope := a.scopes[op.OperationID]; scope {
	case scopeAnyone:
	case scopeOperator:
		needs = []string{string(junctor.ScopeAdmin)}
		op.Description = "Requires the scope `admin` in the tenant `default`."
	case scopeBrowser:
		op.Description = "Requires a login in a browser; keys are rejected."
		op.Security = []map[string][]string{{"login": {}}}
	case scopePolicies:
		op.Description = "Requires the scope `policy:write` or `audit:read`."
		op.Security = []map[string][]string{{"key": {string(junctor.ScopePolicyWrite)}}, {"key": {string(junctor.ScopeAuditRead)}}}
	case scopeConversation:
		op.Description = "Requires the scope `tools:call` or `audit:read`."
		op.Security = []map[string][]string{{"key": {string(junctor.ScopeToolsCall)}}, {"key": {string(junctor.ScopeAuditRead)}}}
	default:
		needs = []string{string(scope)}
		op.Description = "Requires the scope `" + string(scope) + "`."
	}
	if op.Security == nil {
		op.Security = []map[string][]string{{"key": append([]string{}, needs...)}}
	}
	if op.Method == http.MethodGet && answer != reflect.TypeFor[huma.StreamResponse]() {
		op.Middlewares = append(op.Middlewares, a.finishAnswer)
	}
	a.routes = append(a.routes, op.Method+" "+Prefix+op.Path)
	changed := changedList(op.Method, op.OperationID, op.Path)
	compares := reflect.PointerTo(request).Implements(reflect.TypeFor[interface{ wantedVersion() (time.Time, error) }]())
	registerOperation(a.huma, op, request, answer, func(ctx context.Context, in any) (out any, problem *Problem) {
		err := error(nil)
		if !compares && op.Method != http.MethodGet {
			err = refuseIfMatch(requestOf(ctx))
		}
		if err == nil {
			out, err = a.recordOperation(ctx, op.OperationID, in, do)
		}
		if err != nil {
			p := a.toProblem(ctx, err)
			if p.Code == junctor.CodeUnauthenticated {
				// The caller was let in: it is a server that wants a credential.
				p.setStatus(http.StatusForbidden)
			}
			return nil, p
		}
		if changed != "" {
			p := callerOf(ctx)
			a.ListFeed.note(p.Tenant, listChange{changed, p.ID()})
		}
		return out, nil
	})
}

// toProblem returns err for the client. This is the only place that logs an internal
// error, once, with its cause.
func (a *api) toProblem(ctx context.Context, err error) *Problem {
	p := newProblem(err)
	if p.Code == junctor.CodeInternal {
		a.Log.ErrorContext(ctx, "admin API request failed", "request", requestID(ctx), "error", err, "cause", junctor.AsError(err).Cause)
	}
	return p
}
