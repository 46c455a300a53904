package servers

import (
	"context"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// watcherCapabilities are the client capabilities of the console: what a server
// may ask a user who watches a call.
const watcherCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"extensions":` + apps.ClientExtensions + `}`

// runParams are the parameters of a run, as a client would send them.
type runParams struct {
	Name           string          `json:"name,omitempty"`
	URI            string          `json:"uri,omitempty"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
	RequestState   string          `json:"requestState,omitempty"`
}

// Run runs an operation for a user who watches it, through the pipeline.
func (s *Registry) Run(ctx context.Context, p *junctor.Principal, in admin.Run, sink admin.RunSink) (admin.RunResult, error) {
	for _, part := range []struct {
		name string
		text json.RawMessage
	}{{"arguments", in.Arguments}, {"input_responses", in.InputResponses}} {
		if part.text == nil {
			continue
		}
		if err := wire.CheckJSON(part.text); err != nil {
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
		Principal: p, EntryPoint: junctor.EntryAdmin, Scope: catalog.Scope{Server: in.Server, Plain: in.Server == "", Audience: catalog.Watching(p)}, Kind: in.Kind, Name: in.Name, Version: in.Version,
		Params: whole, Arguments: in.Arguments,
		InputResponses: in.InputResponses, RequestState: in.RequestState, HasState: in.RequestState != "",
		Caller: catalog.Caller{Protocol: wire.ModernVersion, Capabilities: []byte(watcherCapabilities), LogLevel: "debug", Progress: true},
	}
	res, err := s.o.Pipeline.Do(ctx, op, sink)
	return admin.RunResult{Call: op.CallID, Duration: op.Duration.Truncate(time.Microsecond), Result: res.Body, IsError: res.IsError, Input: res.Input, Task: res.Task}, err
}

// Offer lists the resources, templates and prompts of a server that the
// principal may see.
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
		body, err := s.o.Pipeline.List(p, catalog.Scope{Server: id}, list.kind)
		if err != nil {
			return o, err
		}
		var members map[string]json.RawMessage // _meta is beside the list if the server has not answered yet
		if err := json.Unmarshal(body, &members); err != nil {
			return o, err
		}
		if items, found := members[list.name]; found {
			if err := json.Unmarshal(items, list.to); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}
