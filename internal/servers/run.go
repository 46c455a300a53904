package servers

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// watcherCapabilities is what somebody at the console can be asked.
const watcherCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"extensions":` + apps.Extensions + `}`

// runParams are the parameters of a run, as a client would send them.
type runParams struct {
	Name           string          `json:"name,omitempty"`
	URI            string          `json:"uri,omitempty"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
	RequestState   string          `json:"requestState,omitempty"`
}

// Run runs something for a person who watches, through the pipeline like
// everyone.
func (s *Registry) Run(ctx context.Context, p *junctor.Principal, in admin.Run, sink admin.RunSink) (admin.RunResult, error) {
	for _, part := range []struct {
		name string
		text json.RawMessage
	}{{"arguments", in.Arguments}, {"input_responses", in.InputResponses}} {
		if part.text == nil {
			continue
		}
		if err := wire.Check(part.text); err != nil {
			return admin.RunResult{}, junctor.Errorf(junctor.CodeInvalid, "%s: %w", part.name, err)
		}
	}
	params := runParams{Name: in.Name, Arguments: in.Arguments, InputResponses: in.InputResponses, RequestState: in.RequestState}
	if in.Kind == junctor.KindResource {
		params.Name, params.URI = "", in.Name
	}
	whole, err := json.Marshal(params)
	if err != nil {
		return admin.RunResult{}, err
	}
	op := &guard.Op{
		Principal: p, Door: junctor.DoorAdmin, View: catalog.View{Server: in.Server, Plain: in.Server == "", Audience: catalog.Watching(p)}, Kind: in.Kind, Name: in.Name, Version: in.Version,
		Params: whole, Arguments: in.Arguments,
		InputResponses: in.InputResponses, RequestState: in.RequestState, HasState: in.RequestState != "",
		Caller: catalog.Caller{Protocol: wire.Modern, Capabilities: []byte(watcherCapabilities), LogLevel: "debug", Progress: true},
	}
	res, err := s.o.Pipeline.Do(ctx, op, sink)
	return admin.RunResult{Call: op.CallID, Result: res.Body, IsError: res.IsError, Input: res.Input, Task: res.Task}, err
}

// Offer lists what a server has beside its tools.
func (s *Registry) Offer(_ context.Context, p *junctor.Principal, id string) (admin.Offer, error) {
	o := admin.Offer{Resources: []json.RawMessage{}, Templates: []json.RawMessage{}, Prompts: []json.RawMessage{}}
	for _, list := range []struct {
		kind catalog.ListKind
		name string
		to   *[]json.RawMessage
	}{
		{catalog.ListResources, "resources", &o.Resources},
		{catalog.ListTemplates, "resourceTemplates", &o.Templates},
		{catalog.ListPrompts, "prompts", &o.Prompts},
	} {
		body, err := s.o.Pipeline.List(p, catalog.View{Server: id}, list.kind)
		if err != nil {
			return o, err
		}
		var lists map[string][]json.RawMessage
		if err := json.Unmarshal(body, &lists); err != nil {
			return o, err
		}
		if items := lists[list.name]; items != nil {
			*list.to = items
		}
	}
	return o, nil
}
