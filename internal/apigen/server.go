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

// Options of a Server.
type Options struct {
	Tools        []tool.Tool
	Filter       Filter // which of them are shown
	Instructions string
	Send         call.Options
	Bound        bool                     // there are credentials: arguments that are tokens are not asked for
	Scrub        func(text string) string // takes credentials away from answers; nil is none

	// Resource reads what arguments that are files name; nil is that none can.
	Resource Resource

	// Document gives the text that the tools were made of, for what is decided by
	// it at a call; nil is that nobody has it.
	Document func(ctx context.Context) ([]byte, error)
}

// Server is a generated server.
type Server struct {
	options    Options
	sender     *call.Sender
	tools      map[string]*tool.Tool
	offer      *catalog.Offer
	answers    *answerCache
	selections selectionChecker
}

// New makes the backend of an API.
func New(o Options) *Server {
	s := &Server{options: o, sender: call.NewSender(o.Send), tools: map[string]*tool.Tool{}, answers: newAnswerCache(), selections: selectionChecker{document: o.Document}}
	s.offer = &catalog.Offer{Instructions: o.Instructions, Templates: []catalog.ResourceDef{answerTemplate()}}
	for i := range o.Tools {
		t := &o.Tools[i]
		if len(t.Incomplete) > 0 || !o.Filter.Takes(t) {
			continue
		}
		s.tools[t.Name] = t
		s.offer.Tools = append(s.offer.Tools, toolDef(t, o.Bound))
	}
	return s
}

// toolDef is a tool as the catalog takes it, for clients of every profile.
func toolDef(t *tool.Tool, bound bool) catalog.ToolDef {
	definition := Definition(t, bound)
	schema := wire.Get(definition, "inputSchema")
	return catalog.ToolDef{
		Name: t.Name, JSON: definition, Topic: toolTopic(t),
		As: func(p junctor.Profile) []byte {
			return wire.AppendObject(nil, definition, nil, wire.Member{Key: "inputSchema", Value: tool.Apply(p, schema)})
		},
		Take: func(p junctor.Profile, arguments []byte) []byte { return tool.Take(p, schema, arguments) },
	}
}

// toolTopic is more words of what a tool is about: its place in the API.
func toolTopic(t *tool.Tool) string {
	return strings.Join(slices.Concat(t.Tags, t.Words), " ")
}

// Definition is a tool as MCP lists it. Where there are credentials, arguments
// that are bound to them are left out.
func Definition(t *tool.Tool, bound bool) []byte {
	return wire.AppendObject(nil, t.JSON(), nil, wire.Member{Key: "inputSchema", Value: argumentSchema(t, bound)})
}

func stringMember(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}

// argumentSchema is the schema of a tool's arguments: those that a person or model gives,
// and with an answer that has fields, which of them are wanted.
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
	if len(t.Output) > 0 && string(wire.Get(t.Annotations, "readOnlyHint")) == "true" && wire.Get(properties, call.FieldsArg) == nil {
		properties = wire.AppendObject(nil, properties, nil, wire.Member{Key: call.FieldsArg, Value: []byte(fieldsSchema)})
	}
	schema = wire.AppendObject(nil, schema, nil, wire.Member{Key: "properties", Value: properties})
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

const fieldsSchema = `{"type":"array","items":{"type":"string"},"description":"Only these fields of the answer, as JSON pointers such as /items/*/id"}`

// Offer implements catalog.Backend.
func (s *Server) Offer(context.Context) (*catalog.Offer, error) { return s.offer, nil }

// Watch implements catalog.Backend: a document that changes is another Server.
func (s *Server) Watch(func(catalog.Event)) {}

// Do implements catalog.Backend.
func (s *Server) Do(ctx context.Context, req *catalog.Request, _ catalog.Sink) (catalog.Result, error) {
	switch req.Kind {
	case junctor.KindTool:
		return s.callTool(ctx, req)
	case junctor.KindResource:
		return s.readAnswer(req)
	default:
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "a server that is made of an API's documentation has tools alone")
	}
}

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
	shape := call.Shape{
		Plan: &t.Plan, Arguments: req.Arguments, Structured: len(t.Output) > 0, Scrub: s.options.Scrub,
		Keep: func(data []byte, media string) string { return s.answers.add(partyOf(req.Principal), data, media) },
	}
	body, isError := shape.Result(answer)
	return catalog.Result{Body: body, IsError: isError}, nil
}

// traceHeaders are the headers that name the trace a call is part of; nil where it is part
// of none.
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

func partyOf(p *junctor.Principal) string {
	if p == nil {
		return ""
	}
	return p.ID()
}
