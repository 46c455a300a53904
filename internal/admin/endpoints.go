package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// AgentToken is an agent's own MCP endpoint, and the token that it is called with.
type AgentToken struct {
	URL       string            `json:"url" minLength:"1" maxLength:"2000" doc:"The agent's own MCP endpoint. The token is sent only to the endpoint's origin."`
	Transport junctor.Transport `json:"transport,omitempty" enum:"http,sse" doc:"Transport of the endpoint. By default http."`
	Header    string            `json:"header,omitempty" enum:"auto,Authorization,X-Agent-Token,X-API-Key" doc:"Header of the token: a bearer token in Authorization, the plain token in the other headers. auto, the default for a new endpoint, means the header that the agent's registration names, or else Authorization."`
	Token     *seal.Secret      `json:"token,omitempty" doc:"The token. It is stored encrypted and never returned. A reference (env:NAME, file:/path or cmd:program) is read each time the token is sent. If absent, the stored token of the origin remains."`
	Sign      bool              `json:"sign,omitempty" doc:"Create or replace the signing secret. It is returned only in this response."`
}

// agentTokenInput is the request that stores an endpoint.
type agentTokenInput struct {
	Precondition
	Agent string `path:"agent" maxLength:"300" doc:"The agent, as named in events."`
	Body  AgentToken
}

// StoredToken is a stored endpoint without its token.
type StoredToken struct {
	junctor.AgentEndpoint
	Signing string `json:"signing_secret,omitempty" doc:"New secret that signs deliveries. It is not shown again."`
}

// agentTokenResponse is a stored endpoint with its version.
type agentTokenResponse = versionedResponse[StoredToken]

// agentTokenQuery is the query of list-agent-tokens.
type agentTokenQuery struct {
	ListQuery
	Agent string `query:"agent" maxLength:"300" doc:"Only endpoints of this agent."`
}

// agentTokenName names an endpoint that is deleted.
type agentTokenName struct {
	Agent string `path:"agent" maxLength:"300" doc:"The agent, as named in events."`
	URL   string `query:"url" maxLength:"2000" doc:"URL of the endpoint, if the agent has several."`
}

// laneName names an endpoint of deliveries. It is in the body because it may be a URL.
type laneName struct {
	Body struct {
		Endpoint string `json:"endpoint" minLength:"1" maxLength:"2000" doc:"The endpoint, as named by the field endpoint of a delivery."`
	}
}

// registerEndpointRoutes registers the routes of delivery endpoints: /endpoints is the
// state of every endpoint that deliveries go to, /agent-tokens the endpoints and tokens of
// agents.
func (a *api) registerEndpointRoutes() {
	tags := []string{"endpoints"}
	registerList(a, huma.Operation{
		OperationID: "list-endpoints", Method: http.MethodGet, Path: "/endpoints", Summary: "List the delivery endpoints that have waiting deliveries or are paused", Tags: tags,
	}, laneList(), func(ctx context.Context, _ *ListQuery) ([]queue.Lane, error) {
		list, err := a.Deliveries.Lanes(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "stop-endpoint", Method: http.MethodPost, Path: "/endpoints/stop", Summary: "Pause a delivery endpoint: its deliveries are held", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *laneName) (*empty, error) {
		return &empty{}, a.Deliveries.StopLane(ctx, callerOf(ctx).Tenant, in.Body.Endpoint)
	})
	registerRoute(a, huma.Operation{
		OperationID: "start-endpoint", Method: http.MethodPost, Path: "/endpoints/start", Summary: "Resume a delivery endpoint immediately, for any reason that it is paused", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *laneName) (*empty, error) {
		return &empty{}, a.Deliveries.StartLane(ctx, callerOf(ctx).Tenant, in.Body.Endpoint)
	})
	registerList(a, huma.Operation{
		OperationID: "list-agent-tokens", Method: http.MethodGet, Path: "/agent-tokens", Summary: "List agents' own endpoints, without their tokens", Tags: tags,
	}, agentEndpointList(), func(ctx context.Context, in *agentTokenQuery) ([]junctor.AgentEndpoint, error) {
		list, err := a.Deliveries.AgentEndpoints(ctx, callerOf(ctx).Tenant, in.Agent)
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-agent-token", Method: http.MethodPut, Path: "/agent-tokens/{agent}", Summary: "Store an agent's own endpoint and its token; deliveries that were held because it was missing resume", Tags: tags,
		MaxBodyBytes: maxSecretBody,
	}, func(ctx context.Context, in *agentTokenInput) (*agentTokenResponse, error) {
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		e, signing, err := a.Deliveries.PutAgentEndpoint(ctx, callerOf(ctx), in.Agent, in.Body, version)
		return withVersion(StoredToken{e, signing}, e.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			origin, err := junctor.Origin(in.Body.URL)
			if err != nil {
				return storedVersion{}, err
			}
			list, err := a.Deliveries.AgentEndpoints(ctx, callerOf(ctx).Tenant, in.Agent)
			for _, e := range list {
				if e.Origin == origin {
					return storedVersion{fmt.Sprintf("the endpoint of the agent %q", in.Agent), StoredToken{AgentEndpoint: e}, e.UpdatedAt, e.UpdatedBy}, nil
				}
			}
			return storedVersion{}, cmp.Or(err, goneError("the endpoint of the agent", in.Agent))
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-agent-token", Method: http.MethodDelete, Path: "/agent-tokens/{agent}", Summary: "Delete an agent's own endpoint and its token", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *agentTokenName) (*empty, error) {
		return &empty{}, a.Deliveries.RemoveAgentEndpoint(ctx, callerOf(ctx).Tenant, in.Agent, in.URL)
	})
}

// laneList is the shape of list-endpoints.
func laneList() listShape[queue.Lane] {
	return listShape[queue.Lane]{
		id: func(v *queue.Lane) string { return v.Name },
		orders: []listOrder[queue.Lane]{
			byText("endpoint", func(v *queue.Lane) string { return v.Name }),
			byText("state", func(v *queue.Lane) string { return string(v.State) }),
			byNumber("deliveries", func(v *queue.Lane) int64 { return int64(v.Jobs) }),
			byTime("changed_at", func(v *queue.Lane) time.Time { return v.ChangedAt }),
		},
		text: func(v *queue.Lane) []string { return []string{v.Name, v.Reason} },
	}
}

// agentEndpointList is the shape of list-agent-tokens.
func agentEndpointList() listShape[junctor.AgentEndpoint] {
	return listShape[junctor.AgentEndpoint]{
		id: func(v *junctor.AgentEndpoint) string { return v.Agent + "\n" + v.Origin },
		orders: []listOrder[junctor.AgentEndpoint]{
			byTime("updated_at", func(v *junctor.AgentEndpoint) time.Time { return v.UpdatedAt }),
			byTime("created_at", func(v *junctor.AgentEndpoint) time.Time { return v.CreatedAt }),
			byText("agent", func(v *junctor.AgentEndpoint) string { return v.Agent }),
			byText("url", func(v *junctor.AgentEndpoint) string { return v.URL }),
		},
		newest: true,
		text:   func(v *junctor.AgentEndpoint) []string { return []string{v.Agent, v.URL} },
	}
}
