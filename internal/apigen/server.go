package apigen

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Options are the options of a Server.
type Options struct {
	Tools []tool.Tool
	// Filter chooses the tools that are offered.
	Filter        Filter
	Instructions  string
	SenderOptions call.Options
	// Bound is set if the server has credentials. Arguments that carry a token
	// are then hidden.
	HasCredentials bool
	// Scrub removes credentials from answers; nil removes nothing.
	Scrub func(text string) string

	// Resource reads the resources that file arguments name. If it is nil,
	// files must be given with their content.
	ReadResource ResourceReader

	// Document returns the text that the tools were made of. A caller's GraphQL
	// selection is checked with it. It may be nil.
	LoadDocument func(ctx context.Context) ([]byte, error)
}

// Server is the backend of one generated server. It implements catalog.Backend
// and is safe for concurrent use. A changed document makes a new Server.
type Server struct {
	options    Options
	sender     *call.Sender
	tools      map[string]*tool.Tool
	offer      *catalog.Offer
	answers    *answerCache
	selections selectionChecker
}

// New returns the backend of an API. It offers the tools that can be called and
// that the filter includes.
func New(o Options) *Server {
	s := &Server{options: o, sender: call.NewSender(o.SenderOptions), tools: map[string]*tool.Tool{}, answers: newAnswerCache(), selections: selectionChecker{document: o.LoadDocument}}
	s.offer = &catalog.Offer{Instructions: o.Instructions, Templates: []catalog.ResourceDef{answerTemplate()}}
	for i := range o.Tools {
		t := &o.Tools[i]
		if len(t.Incomplete) > 0 || !o.Filter.Includes(t) {
			continue
		}
		s.tools[t.Name] = t
		s.offer.Tools = append(s.offer.Tools, toolDef(t, o.HasCredentials))
	}
	return s
}

// toolDef returns a tool as the catalog takes it, for clients of every profile.
func toolDef(t *tool.Tool, bound bool) catalog.ToolDef {
	definition := ToolDefinition(t, bound)
	schema := wire.Get(definition, "inputSchema")
	return catalog.ToolDef{
		Name: t.Name, JSON: definition, Topic: toolTopic(t),
		As: func(p junctor.Profile) []byte {
			return wire.AppendObject(nil, definition, nil, wire.Member{Key: "inputSchema", Value: tool.ApplyProfile(p, schema)})
		},
		Take: func(p junctor.Profile, arguments []byte) []byte { return tool.NormalizeArguments(p, schema, arguments) },
	}
}

// toolTopic returns further words on the subject of a tool, for search and
// roles: its tags and the words of its path.
func toolTopic(t *tool.Tool) string {
	return strings.Join(slices.Concat(t.Tags, t.PathWords), " ")
}

// ToolDefinition returns a tool as MCP lists it. If bound is set, arguments that
// carry a token are left out.
func ToolDefinition(t *tool.Tool, bound bool) []byte {
	return wire.AppendObject(nil, t.JSON(), nil, wire.Member{Key: "inputSchema", Value: argumentSchema(t, bound)})
}

// stringMember returns a JSON member with a string value.
func stringMember(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}

// argumentSchema returns the input schema that clients see: without hidden
// arguments, and with _fields for tools that read and have an output schema.
func argumentSchema(t *tool.Tool, bound bool) []byte {
	var hidden []string
	for _, a := range t.Plan.Args {
		if bound && a.Scheme != "" {
			hidden = append(hidden, a.Name)
		}
	}
	schema := []byte(t.Input)
	properties := wire.Get(schema, "properties")
	if properties == nil {
		properties = []byte("{}")
	}
	properties = wire.AppendObject(nil, properties, hidden)
	// Selecting fields makes sense for tools that read. A parameter of the API
	// with that name takes precedence.
	if len(t.Output) > 0 && string(wire.Get(t.Annotations, "readOnlyHint")) == "true" && wire.Get(properties, call.FieldsArg) == nil {
		properties = wire.AppendObject(nil, properties, nil, wire.Member{Key: call.FieldsArg, Value: []byte(fieldsSchema)})
	}
	schema = wire.AppendObject(nil, schema, nil, wire.Member{Key: "properties", Value: properties})
	// A hidden argument cannot be required.
	if required := wire.Get(schema, "required"); len(hidden) > 0 && required != nil {
		names := []string{}
		for item := range wire.Elements(required) {
			if name, ok := wire.String(item); ok && !slices.Contains(hidden, name) {
				names = append(names, name)
			}
		}
		list, err := json.Marshal(names)
		if err == nil {
			schema = wire.AppendObject(nil, schema, nil, wire.Member{Key: "required", Value: list})
		}
	}
	return schema
}

// fieldsSchema is the schema of the argument _fields.
const fieldsSchema = `{"type":"array","items":{"type":"string"},"description":"Only these fields of the answer, as JSON pointers such as /items/*/id"}`

// Offer implements catalog.Backend. The offer never changes.
func (s *Server) Offer(context.Context) (*catalog.Offer, error) { return s.offer, nil }

// Watch implements catalog.Backend. There are no events, because a changed
// document makes a new Server.
func (s *Server) Watch(func(catalog.Event)) {}

// Do implements catalog.Backend. It calls a tool, or reads a cached answer.
func (s *Server) Do(ctx context.Context, req *catalog.Request, _ catalog.Sink) (catalog.Result, error) {
	switch req.Kind {
	case junctor.KindTool:
		return s.callTool(ctx, req)
	case junctor.KindResource:
		return s.readAnswer(req)
	default:
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "a server that is generated from an API has only tools")
	}
}

// callTool sends the request of a tool and turns the answer into a result. The
// selection and files of the arguments are replaced first, so that apigen/call
// only sees final values.
func (s *Server) callTool(ctx context.Context, req *catalog.Request) (catalog.Result, error) {
	t := s.tools[req.Name]
	if t == nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "unknown tool %q", req.Name)
	}
	plan, arguments, err := s.selections.applySelection(ctx, &t.Plan, req.Arguments)
	if err != nil {
		return catalog.Result{}, err
	}
	if arguments, err = s.fillFiles(ctx, plan, req, arguments); err != nil {
		return catalog.Result{}, err
	}
	answer, err := s.sender.Send(ctx, plan, arguments, req.Principal, req.Repeatable, traceHeaders(req.Meta))
	if err != nil {
		return catalog.Result{}, err
	}
	shape := call.ResultBuilder{
		Plan: &t.Plan, Arguments: req.Arguments, Structured: len(t.Output) > 0, Scrub: s.options.Scrub,
		// Only the caller may read the answer later.
		StoreWhole: func(data []byte, media string) string { return s.answers.add(partyOf(req.Principal), data, media) },
	}
	body, isError := shape.BuildResult(answer)
	return catalog.Result{Body: body, IsError: isError}, nil
}

// traceHeaders returns the headers of the trace that a call is part of; nil if
// it is part of none. Values that a header cannot hold are dropped.
func traceHeaders(meta []byte) http.Header {
	if len(meta) == 0 {
		return nil
	}
	var h http.Header
	for _, f := range [...]struct{ key, name string }{{wire.MetaTraceparent, "Traceparent"}, {wire.MetaTracestate, "Tracestate"}} {
		value, _ := wire.String(wire.Get(meta, f.key))
		if value == "" || wire.EncodeHeader(value) != value { // what a header cannot hold
			continue
		}
		if h == nil {
			h = http.Header{}
		}
		h.Set(f.name, value)
	}
	return h
}

// partyOf returns the id of the caller, to which a cached answer belongs.
func partyOf(p *junctor.Principal) string {
	if p == nil {
		return ""
	}
	return p.ID()
}
