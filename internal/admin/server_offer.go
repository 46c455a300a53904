package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Offer is the resources, templates and prompts of a server, as MCP objects under the
// server's own names.
type Offer struct {
	Resources []json.RawMessage `json:"resources" nullable:"false"`
	Templates []json.RawMessage `json:"templates" nullable:"false"`
	Prompts   []json.RawMessage `json:"prompts" nullable:"false"`
}

// offerResponse is the answer to get-server-offer.
type offerResponse struct{ Body Offer }

// registerOfferRoutes registers the route of a server's offer. It reads the server first,
// so that an invisible server is not_found.
func (a *api) registerOfferRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "get-server-offer", Method: http.MethodGet, Path: "/servers/{id}/offer", Summary: "List the resources and prompts of a server", Tags: []string{"servers"},
	}, func(ctx context.Context, in *serverID) (*offerResponse, error) {
		p := callerOf(ctx)
		if _, err := a.Servers.Server(ctx, p, in.ID); err != nil {
			return nil, err
		}
		o, err := a.Servers.Offer(ctx, p, in.ID)
		return &offerResponse{o}, err
	})
}
