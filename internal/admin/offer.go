package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Offer is what a server has beside its tools, as MCP has it and under the
// server's own names.
type Offer struct {
	Resources []json.RawMessage `json:"resources" nullable:"false"`
	Templates []json.RawMessage `json:"templates" nullable:"false"`
	Prompts   []json.RawMessage `json:"prompts" nullable:"false"`
}

type oneOffer struct{ Body Offer }

func (a *api) offerRoutes() {
	route(a, huma.Operation{
		OperationID: "get-server-offer", Method: http.MethodGet, Path: "/servers/{id}/offer", Summary: "List a server's resources and prompts", Tags: []string{"servers"},
	}, func(ctx context.Context, in *serverID) (*oneOffer, error) {
		p := caller(ctx)
		if _, err := a.Servers.Server(ctx, p, in.ID); err != nil {
			return nil, err
		}
		o, err := a.Servers.Offer(ctx, p, in.ID)
		return &oneOffer{o}, err
	})
}
