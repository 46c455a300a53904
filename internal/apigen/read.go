package apigen

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/apigen/rest"
)

// ReadDocument reads a document of any format that a reader exists for. OpenAPI and
// GraphQL come before prose, whose readers accept almost any text.
func ReadDocument(ctx context.Context, source doc.Source, fetch doc.Fetch) (*doc.Document, error) {
	return doc.Read(ctx, source, fetch, append(graphql.Readers(), rest.Readers()...)...)
}
