package catalog

import (
	"context"
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// toolFinder is the backend of find_tools, describe_tool and call_tool for one
// shelf and one catalog scope. It shows only tools that its caller may see, and
// calls nothing: the guard turns a call of CallTool into a call of the tool
// itself, so that every check and record applies to that tool.
type toolFinder struct {
	shelf *Shelf
	scope Scope
}

// Offer implements Backend.
func (f *toolFinder) Offer(context.Context) (*Offer, error) { return &Offer{Tools: metaTools()}, nil }

// Watch implements Backend.
func (f *toolFinder) Watch(func(Event)) {}

// Do implements Backend.
func (f *toolFinder) Do(_ context.Context, req *Request, _ Sink) (Result, error) {
	switch req.Name {
	case FindTools:
		return f.findTools(req)
	case DescribeTool:
		return f.describeTool(req)
	}
	return Result{}, junctor.Errorf(junctor.CodeInvalid, "%s requires name, the name of a tool, and arguments, an object", CallTool)
}

// foundTool is a tool in the answer of find_tools.
type foundTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// findTools answers a call of find_tools.
func (f *toolFinder) findTools(req *Request) (Result, error) {
	query, _ := wire.String(wire.Get(req.Arguments, "query"))
	limit, ok := wire.Int(wire.Get(req.Arguments, "limit"))
	if !ok || limit < 1 || limit > 50 {
		limit = 10
	}
	// Search judges visibility for the caller of this call, not for the one
	// that listed.
	matches := f.shelf.Search(req.Principal, f.scope, query, int(limit))
	tools := make([]foundTool, 0, len(matches))
	for _, m := range matches {
		description := stringValue(wire.Get(m.Tool.Default.JSON, "description"))
		tools = append(tools, foundTool{f.shelf.shownName(f.scope, f.shelf.byID[m.Tool.Server], m.Tool), junctor.ShortenText(strings.TrimSpace(description), 200)})
	}
	out, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		return Result{}, junctor.Errorf(junctor.CodeInternal, "cannot encode the tools: %w", err)
	}
	return structuredResult(out), nil
}

// describeTool answers a call of describe_tool with the definition that a list
// would show.
func (f *toolFinder) describeTool(req *Request) (Result, error) {
	name, _ := wire.String(wire.Get(req.Arguments, "name"))
	item, err := f.shelf.Tool(req.Principal, f.scope, name, "")
	if err != nil {
		return Result{}, err
	}
	if f.shelf.deniesAll(req.Principal, item.Server, junctor.KindTool, item.Name) {
		return Result{}, f.shelf.unknownTool(req.Principal, f.scope, name)
	}
	return structuredResult(wire.AppendObject(nil, item.Tool.forProfile(f.scope.Profile).JSON, nil, stringMember("name", name))), nil
}

// structuredResult makes a result of one JSON object, as structuredContent and
// as text.
func structuredResult(object []byte) Result {
	body := append([]byte(`{"content":[{"type":"text","text":`), wire.AppendString(nil, string(object))...)
	body = append(append(body, `}],"structuredContent":`...), object...)
	return Result{Body: append(body, '}')}
}
