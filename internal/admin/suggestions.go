package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Suggester has models suggest names, descriptions and roles for the tools of
// auto-generated servers. A suggestion has no effect until a user approves it.
type Suggester interface {
	// Suggest asks a model and stores its suggestions, in place of former ones for the
	// same tools. Its steps are the number of tools that the model was asked about.
	Suggest(ctx context.Context, p *junctor.Principal, id string, in Suggest) (Suggested, error)
	// Suggestions lists the suggestions that nobody has decided on.
	Suggestions(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ToolSuggestion, error)
	// DecideSuggestions approves or rejects all suggestions that are named, or none, and
	// returns them.
	DecideSuggestions(ctx context.Context, p *junctor.Principal, id string, ids []string, approve bool) ([]junctor.ToolSuggestion, error)
}

// Suggest selects the model and the tools for which it proposes improvements.
type Suggest struct {
	Model string   `json:"model,omitempty" maxLength:"32" doc:"Name of the model. Can be absent if there is only one."`
	Tools []string `json:"tools,omitempty" maxItems:"400" doc:"Tools by their names at the server. If absent, all tools, at most 400."`
}

// Suggested is the answer of a model, checked.
type Suggested struct {
	Model   string                   `json:"model"`
	Items   []junctor.ToolSuggestion `json:"items" nullable:"false" doc:"New suggestions. Suggestions that equal the current state are left out."`
	LeftOut []junctor.LeftOut        `json:"left_out" nullable:"false" doc:"Invalid suggestions of the model, at most 50."`
	Usage   agent.Usage              `json:"usage" doc:"Tokens that the model used."`
}

// suggestInput is the request that asks a model.
type suggestInput struct {
	ID   string `path:"id" doc:"The server's id."`
	Body Suggest
}

// suggestResponse is the answer to suggestInput.
type suggestResponse struct{ Body Suggested }

// decideInput is the request that approves or rejects suggestions.
type decideInput struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		IDs []string `json:"ids" minItems:"1" maxItems:"400" doc:"IDs of the reviewed suggestions. If one of them was already decided or replaced, the response is 404 and nothing is changed."`
	}
}

// registerSuggestionRoutes registers the routes of suggestions for a server's tools.
func (a *api) registerSuggestionRoutes() {
	tags := []string{"servers"}
	registerList(a, huma.Operation{
		OperationID: "list-suggestions", Method: http.MethodGet, Path: "/servers/{id}/suggestions", Summary: "List the suggestions for a server's tools, beside their current state", Tags: tags,
	}, suggestionList(), func(ctx context.Context, in *serverListQuery) ([]junctor.ToolSuggestion, error) {
		list, err := a.Servers.Suggestions(ctx, callerOf(ctx), in.ID)
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "make-suggestions", Method: http.MethodPost, Path: "/servers/{id}/suggestions", Summary: "Request suggestions from a model for names, descriptions and roles of an auto-generated server's tools", Tags: tags,
		BodyReadTimeout: -1,
	}, func(ctx context.Context, in *suggestInput) (*suggestResponse, error) {
		out, err := a.Servers.Suggest(ctx, callerOf(ctx), in.ID, in.Body)
		return &suggestResponse{out}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "follow-suggestions", Method: http.MethodPost, Path: "/servers/{id}/suggestions/steps", Summary: "Request suggestions from a model, and stream the progress", Tags: tags,
		BodyReadTimeout: -1, Responses: stepEvents("Suggested"),
	}, func(ctx context.Context, in *suggestInput) (*huma.StreamResponse, error) {
		return streamSteps(ctx, a, func(ctx context.Context) (Suggested, error) {
			return a.Servers.Suggest(ctx, callerOf(ctx), in.ID, in.Body)
		}), nil
	})
	for _, way := range []struct {
		id, path, summary string
		approve           bool
	}{
		{"approve-suggestions", "approve", "Approve suggestions and apply them to the tools", true},
		{"reject-suggestions", "reject", "Reject and delete suggestions", false},
	} {
		registerRoute(a, huma.Operation{
			OperationID: way.id, Method: http.MethodPost, Path: "/servers/{id}/suggestions/" + way.path, Summary: way.summary, Tags: tags,
		}, func(ctx context.Context, in *decideInput) (*pageResponse[junctor.ToolSuggestion], error) {
			list, err := a.Servers.DecideSuggestions(ctx, callerOf(ctx), in.ID, in.Body.IDs, way.approve)
			return newPage(list, ""), err
		})
	}
}

// suggestionList is the shape of list-suggestions.
func suggestionList() listShape[junctor.ToolSuggestion] {
	return listShape[junctor.ToolSuggestion]{
		id: func(v *junctor.ToolSuggestion) string { return v.ID },
		orders: []listOrder[junctor.ToolSuggestion]{
			byText("tool", func(v *junctor.ToolSuggestion) string { return v.Tool }),
			byTime("made_at", func(v *junctor.ToolSuggestion) time.Time { return v.MadeAt }),
		},
		text: func(v *junctor.ToolSuggestion) []string { return []string{v.Tool, v.Key} },
	}
}
