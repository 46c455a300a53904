package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Suggester has models suggest how tools of generated servers are shown and whom
// they are for. Nothing of it is so before a person approves it.
type Suggester interface {
	// Suggest asks a model, and keeps what it suggests in place of what was
	// suggested for the same tools. Its steps are how many tools it was asked
	// about.
	Suggest(ctx context.Context, p *junctor.Principal, id string, in Suggest) (Suggested, error)
	// Suggestions lists what nobody has decided on.
	Suggestions(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ToolSuggestion, error)
	// DecideSuggestions takes suggestions over, or forgets them: all that are
	// named, or none. It gives those that it decided on.
	DecideSuggestions(ctx context.Context, p *junctor.Principal, id string, ids []string, approve bool) ([]junctor.ToolSuggestion, error)
}

// Suggest is what a model is asked.
type Suggest struct {
	Model string   `json:"model,omitempty" maxLength:"32" doc:"Which model is asked; absent: the only one."`
	Tools []string `json:"tools,omitempty" maxItems:"400" doc:"By the server's own names; absent: all that it offers, up to 400."`
}

// Suggested is what it said.
type Suggested struct {
	Model   string                   `json:"model"`
	Items   []junctor.ToolSuggestion `json:"items" nullable:"false" doc:"New ones. What it suggested for tools that are good as they are is not among them."`
	LeftOut []junctor.LeftOut        `json:"left_out" nullable:"false" doc:"What it said and what cannot be, the first 50."`
	Usage   agent.Usage              `json:"usage" doc:"Tokens."`
}

type suggestInput struct {
	ID   string `path:"id" doc:"The server's id."`
	Body Suggest
}

type suggested struct{ Body Suggested }

type decideInput struct {
	ID   string `path:"id" doc:"The server's id."`
	Body struct {
		IDs []string `json:"ids" minItems:"1" maxItems:"400" doc:"Of the suggestions that were looked at. One that was decided on, or that made room for another, is not found, and nothing is done."`
	}
}

func (a *api) suggestionRoutes() {
	tags := []string{"servers"}
	route(a, huma.Operation{
		OperationID: "list-suggestions", Method: http.MethodGet, Path: "/servers/{id}/suggestions", Summary: "List what models suggest for a server's tools, beside what is", Tags: tags,
	}, func(ctx context.Context, in *serverID) (*pageOf[junctor.ToolSuggestion], error) {
		list, err := a.Servers.Suggestions(ctx, caller(ctx), in.ID)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "make-suggestions", Method: http.MethodPost, Path: "/servers/{id}/suggestions", Summary: "Have a model suggest names, descriptions and roles for the tools of an auto-generated server", Tags: tags,
		BodyReadTimeout: -1,
	}, func(ctx context.Context, in *suggestInput) (*suggested, error) {
		out, err := a.Servers.Suggest(ctx, caller(ctx), in.ID, in.Body)
		return &suggested{out}, err
	})
	route(a, huma.Operation{
		OperationID: "follow-suggestions", Method: http.MethodPost, Path: "/servers/{id}/suggestions/steps", Summary: "The same, followed step by step: how many tools the model was asked about", Tags: tags,
		BodyReadTimeout: -1, Responses: stepEvents("Suggested"),
	}, func(ctx context.Context, in *suggestInput) (*huma.StreamResponse, error) {
		return follow(ctx, a, func(ctx context.Context) (Suggested, error) {
			return a.Servers.Suggest(ctx, caller(ctx), in.ID, in.Body)
		}), nil
	})
	for _, way := range []struct {
		id, path, summary string
		approve           bool
	}{
		{"approve-suggestions", "approve", "Show tools as was suggested", true},
		{"reject-suggestions", "reject", "Forget what was suggested", false},
	} {
		route(a, huma.Operation{
			OperationID: way.id, Method: http.MethodPost, Path: "/servers/{id}/suggestions/" + way.path, Summary: way.summary, Tags: tags,
		}, func(ctx context.Context, in *decideInput) (*pageOf[junctor.ToolSuggestion], error) {
			list, err := a.Servers.DecideSuggestions(ctx, caller(ctx), in.ID, in.Body.IDs, way.approve)
			return newPage(list, ""), err
		})
	}
}
