package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// api is the registered routes and what they stand on.
type api struct {
	Options
	mux    *http.ServeMux
	huma   huma.API
	routes []string // "METHOD /path" of each

	gallery func() ([]*pack.Pack, error)
}

// page is how every list is answered.
type page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Send it as cursor to get the next page; absent on the last."`
}

type pageOf[T any] struct{ Body page[T] }

func newPage[T any](items []T, next string) *pageOf[T] {
	if items == nil {
		items = []T{}
	}
	return &pageOf[T]{Body: page[T]{Items: items, Next: next}}
}

// none is an input or an output without anything in it.
type none struct{}

func register(o Options) *api {
	a := &api{Options: o, mux: http.NewServeMux(), gallery: sync.OnceValues(pack.Gallery)}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	describeTypes(registry)
	a.huma = humago.NewWithPrefix(a.mux, Prefix, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Junctor admin API",
				Version:     o.Version,
				Description: "Lists are {items, next}; errors are RFC 9457 problems with a code; every time is RFC 3339.",
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"key":   {Type: "http", Scheme: "bearer", Description: "A key of this instance. Behind each operation stands the scope it needs."},
					"login": {Type: "apiKey", In: "cookie", Name: "__Host-junctor-session", Description: "The session of a browser that is signed in at /login."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": format(), "json": format()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transform},
	})
	a.huma.UseMiddleware(a.admit)
	a.serverRoutes()
	a.credentialRoutes()
	a.offerRoutes()
	a.documentRoutes()
	a.suggestionRoutes()
	a.serverLoginRoutes()
	a.chainRoutes()
	a.toolRoutes()
	a.runRoutes()
	a.appRoutes()
	a.viewRoutes()
	a.tagRoutes()
	a.agentRoutes()
	a.modelRoutes()
	a.componentCatalogRoutes()
	a.talkRoutes()
	a.keyRoutes()
	a.userRoutes()
	a.loginRoutes()
	a.consentRoutes()
	a.tenantRoutes()
	a.meRoutes()
	a.callRoutes()
	a.tailRoutes()
	a.historyRoutes()
	a.eventRoutes()
	a.limitRoutes()
	a.secretRoutes()
	a.aboutRoutes()
	a.applyRoutes()
	a.packRoutes()
	a.journalRoutes()
	a.clusterRoutes()
	a.deliveryRoutes()
	a.endpointRoutes()
	a.workspaceRoutes()
	return a
}

// format reads bodies strictly (members are case-sensitive and stand once,
// unknown ones are refused) and writes them as encoding/json does.
func format() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(v)
		},
		Unmarshal: func(data []byte, v any) error {
			return strict.Unmarshal(data, v, strict.RejectUnknownMembers(true))
		},
	}
}

// route registers one operation. Its scope stands in the table of scope.go and
// so in the OpenAPI document.
func route[I, O any](a *api, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	var needs []string
	switch scope := scopes()[op.OperationID]; scope {
	case anyone:
	case operator:
		needs = []string{string(junctor.ScopeAdmin)}
		op.Description = "Needs the scope `admin` in the default tenant."
	case browser:
		op.Description = "Needs a browser's login; no key can do this."
		op.Security = []map[string][]string{{"login": {}}}
	case conversation:
		op.Description = "Needs the scope `tools:call` or `audit:read`."
		op.Security = []map[string][]string{{"key": {string(junctor.ScopeToolsCall)}}, {"key": {string(junctor.ScopeAuditRead)}}}
	default:
		needs = []string{string(scope)}
		op.Description = "Needs the scope `" + string(scope) + "`."
	}
	if op.Security == nil {
		op.Security = []map[string][]string{{"key": append([]string{}, needs...)}}
	}
	a.routes = append(a.routes, op.Method+" "+Prefix+op.Path)
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		var out *O
		_, compares := any(in).(interface{ version() (time.Time, error) })
		err := error(nil)
		if !compares && op.Method != http.MethodGet {
			err = unversioned(httpRequest(ctx))
		}
		if err == nil {
			out, err = do(ctx, in)
		}
		if err != nil {
			p := a.problem(ctx, err)
			if p.Code == junctor.CodeUnauthenticated {
				// The caller was let in: it is a server that wants a credential.
				p.setStatus(http.StatusForbidden)
			}
			return nil, p
		}
		return out, nil
	})
}

// problem is err for the client. This is the edge where a fault of ours is
// logged, once, with its cause.
func (a *api) problem(ctx context.Context, err error) *Problem {
	p := problemOf(err)
	if p.Code == junctor.CodeInternal {
		a.Log.ErrorContext(ctx, "admin API", "request", requestID(ctx), "error", err, "cause", junctor.AsError(err).Cause)
	}
	return p
}
