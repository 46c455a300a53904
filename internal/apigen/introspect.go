package apigen

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// documentsIssuer is the party whose bytes those of fetched documents are.
const documentsIssuer = "documents"

// Introspect asks a GraphQL endpoint what it offers. What it answers is counted in
// bytesInFlight, which may be nil.
func Introspect(ctx context.Context, client *http.Client, address string, header http.Header, bytesInFlight *limit.ByteBudget) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"query": graphql.Introspection})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the question cannot be written: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address is none")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, junctor.AsError(err)
	}
	defer resp.Body.Close()
	text, err := bytesInFlight.ReadAll(ctx, limit.Party{Issuer: documentsIssuer}, nil, resp.Body, resp.ContentLength, maxFiles)
	if err != nil {
		return nil, junctor.AsError(err)
	}
	if resp.StatusCode != http.StatusOK || wire.Get(wire.Get(wire.Get(text, "data"), "__schema"), "types") == nil {
		return nil, junctor.Errorf(junctor.CodeUpstream, "the endpoint does not say what it offers (HTTP %d)", resp.StatusCode)
	}
	return text, nil
}
