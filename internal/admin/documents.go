package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// maxDocumentBody is as much as a document may hold, and room for how JSON writes
// it.
const maxDocumentBody = 48 << 20

// Import is a document to make a server of again. Without a text and an address
// it is fetched from where it came from.
type Import struct {
	Document       string
	DocumentURL    string
	DryRun         bool
	AcceptBreaking bool
	AllowEmpty     bool
}

// Imported is what came of it.
type Imported struct {
	Applied bool `json:"applied" doc:"The server is made of the document now."`
	junctor.APIPreview
}

type previewed struct{ Body junctor.APIPreview }

type imported struct{ Body Imported }

type importDocument struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		Document       string `json:"document,omitempty" doc:"The text. Absent, and without document_url, it is fetched from where it came from."`
		DocumentURL    string `json:"document_url,omitempty" maxLength:"4096" doc:"Where it is from now on."`
		DryRun         bool   `json:"dry_run,omitempty" doc:"Say what would change, and change nothing."`
		AcceptBreaking bool   `json:"accept_breaking,omitempty" doc:"Take over what may make callers fail too: tools and arguments that are gone, arguments that have to be given, another host, less authentication."`
		AllowEmpty     bool   `json:"allow_empty,omitempty" doc:"Take over a document that yields no tool."`
	}
}

// StoredDocument is the text that a server is made of.
type StoredDocument struct {
	Document  string    `json:"document"`
	ETag      string    `json:"etag,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
}

type storedDocument struct{ Body StoredDocument }

func (a *api) documentRoutes() {
	tags := []string{"servers"}
	route(a, huma.Operation{
		OperationID: "preview-server", Method: http.MethodPost, Path: "/servers/preview", Summary: "Show what an API's documentation comes to, without adding a server", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*previewed, error) {
		input, err := inputOf(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		p, err := a.Servers.PreviewServer(ctx, caller(ctx), input)
		return &previewed{p}, err
	})
	route(a, huma.Operation{
		OperationID: "follow-preview", Method: http.MethodPost, Path: "/servers/preview/steps", Summary: "Show what an API's documentation comes to, and follow it step by step: fetch, read, tools, preview", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1, Responses: stepEvents("APIPreview"),
	}, func(ctx context.Context, in *probeServer) (*huma.StreamResponse, error) {
		input, err := inputOf(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		return follow(ctx, a, func(ctx context.Context) (junctor.APIPreview, error) {
			return a.Servers.PreviewServer(ctx, caller(ctx), input)
		}), nil
	})
	route(a, huma.Operation{
		OperationID: "fetch-document", Method: http.MethodPost, Path: "/servers/preview/document", Summary: "Fetch the documentation at document_url, to look at its text before adding a server", Tags: tags,
		MaxBodyBytes: maxServerBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *probeServer) (*storedDocument, error) {
		input, err := inputOf(in.Body.ID, junctor.ModeGenerated, &in.Body.ServerBody)
		if err != nil {
			return nil, err
		}
		d, err := a.Servers.FetchDocument(ctx, caller(ctx), input)
		return &storedDocument{StoredDocument{string(d.Text), d.ETag, d.FetchedAt}}, err
	})
	route(a, huma.Operation{
		OperationID: "import-document", Method: http.MethodPost, Path: "/servers/{id}/import", Summary: "Make a server of its documentation again, or say what would change", Tags: tags,
		MaxBodyBytes: maxDocumentBody, BodyReadTimeout: -1,
	}, func(ctx context.Context, in *importDocument) (*imported, error) {
		b := in.Body
		out, err := a.Servers.ImportDocument(ctx, caller(ctx), in.ID, Import{b.Document, b.DocumentURL, b.DryRun, b.AcceptBreaking, b.AllowEmpty})
		return &imported{out}, err
	})
	route(a, huma.Operation{
		OperationID: "get-document", Method: http.MethodGet, Path: "/servers/{id}/document", Summary: "Show the documentation that a server is made of", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*storedDocument, error) {
		d, err := a.Servers.Document(ctx, caller(ctx), in.ID)
		return &storedDocument{StoredDocument{string(d.Text), d.ETag, d.FetchedAt}}, err
	})
	route(a, huma.Operation{
		OperationID: "validate-server", Method: http.MethodGet, Path: "/servers/{id}/validate", Summary: "Say what is wrong with a server's documentation, and what could be better", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*previewed, error) {
		p, err := a.Servers.ValidateServer(ctx, caller(ctx), in.ID)
		return &previewed{p}, err
	})
}
