package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// maxDocumentBody bounds a request with a document: the size limit of documents, with room
// for JSON escapes.
const maxDocumentBody = 48 << 20

// Import is a document from which a server is made again. Without a text and an address,
// it is fetched from the stored address.
type Import struct {
	Document       string
	DocumentURL    string
	DryRun         bool
	AcceptBreaking bool
	AllowEmpty     bool
}

// Imported is the result of an import.
type Imported struct {
	Applied bool `json:"applied" doc:"Whether the server now uses the document."`
	junctor.APIPreview
}

// previewResponse is the answer of the routes that preview a document.
type previewResponse struct{ Body junctor.APIPreview }

// importResponse is the answer to importDocument.
type importResponse struct{ Body Imported }

// importDocument is the request that imports a document.
type importDocument struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Document       string `json:"document,omitempty" doc:"Text of the document. If document and document_url are both absent, the document is fetched from its source again."`
		DocumentURL    string `json:"document_url,omitempty" maxLength:"4096" doc:"New source URL of the document."`
		DryRun         bool   `json:"dry_run,omitempty" doc:"Return the changes without making them."`
		AcceptBreaking bool   `json:"accept_breaking,omitempty" doc:"Apply changes that can break callers: removed tools or arguments, new required arguments, another host, weaker authentication."`
		AllowEmpty     bool   `json:"allow_empty,omitempty" doc:"Apply a document that yields no tool."`
	}
}

// StoredDocument is the text that a server is made of.
type StoredDocument struct {
	Document  string    `json:"document"`
	ETag      string    `json:"etag,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
}

// storedDocumentResponse is the answer of the routes that return a document's text.
type storedDocumentResponse struct{ Body StoredDocument }

// registerDocumentRoutes registers the routes of auto-generated servers: preview, fetch,
// import, read and validate a document. Requests that fetch have no read deadline
// (BodyReadTimeout -1), because huma's deadline would end the request's context while the
// other side is still slow.
func (a *api) registerDocumentRoutes() {
	tags := []string{"servers"}
	registerRoute(a, huma.Operation{
		OperationID: "preview-server", Method: http.MethodPost, Path: "/servers/preview", Summary: "Preview the server that an API's documentation yields, without adding it", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*previewResponse, error) {
		input, err := newServerInput(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		p, err := a.Servers.PreviewServer(ctx, callerOf(ctx), input)
		return &previewResponse{p}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "follow-preview", Method: http.MethodPost, Path: "/servers/preview/steps", Summary: "Preview the server that an API's documentation yields, and stream the steps: fetch, read, tools, preview", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1, Responses: stepEvents("APIPreview"),
	}, func(ctx context.Context, in *probeServer) (*huma.StreamResponse, error) {
		input, err := newServerInput(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		return streamSteps(ctx, a, func(ctx context.Context) (junctor.APIPreview, error) {
			return a.Servers.PreviewServer(ctx, callerOf(ctx), input)
		}), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "fetch-document", Method: http.MethodPost, Path: "/servers/preview/document", Summary: "Fetch the documentation at document_url, to review its text before adding a server", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*storedDocumentResponse, error) {
		input, err := newServerInput(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		d, err := a.Servers.FetchDocument(ctx, callerOf(ctx), input)
		return &storedDocumentResponse{StoredDocument{string(d.Text), d.ETag, d.FetchedAt}}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "import-document", Method: http.MethodPost, Path: "/servers/{id}/import", Summary: "Import the documentation of a server again, or return the changes", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *importDocument) (*importResponse, error) {
		b := in.Body
		out, err := a.Servers.ImportDocument(ctx, callerOf(ctx), in.ID, Import{b.Document, b.DocumentURL, b.DryRun, b.AcceptBreaking, b.AllowEmpty})
		return &importResponse{out}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-document", Method: http.MethodGet, Path: "/servers/{id}/document", Summary: "Show the documentation of an auto-generated server", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*storedDocumentResponse, error) {
		d, err := a.Servers.Document(ctx, callerOf(ctx), in.ID)
		return &storedDocumentResponse{StoredDocument{string(d.Text), d.ETag, d.FetchedAt}}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "validate-server", Method: http.MethodGet, Path: "/servers/{id}/validate", Summary: "List problems and possible improvements of a server's documentation", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*previewResponse, error) {
		p, err := a.Servers.ValidateServer(ctx, callerOf(ctx), in.ID)
		return &previewResponse{p}, err
	})
}
