package catalog

import (
	"context"
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// finder is the backend of the tools that stand for others, on one shelf and in
// one view. It shows what its caller may see, and calls nothing: a call of
// CallTool is a call of the tool itself, which the guard makes of it.
type finder struct {
	sh *Shelf
	v  View
}

// Offer implements Backend.
func (f *finder) Offer(context.Context) (*Offer, error) { return &Offer{Tools: metaTools()}, nil }

// Watch implements Backend.
func (f *finder) Watch(func(Event)) {}

// Do implements Backend.
func (f *finder) Do(_ context.Context, req *Request, _ Sink) (Result, error) {
	switch req.Name {
	case FindTools:
		return f.find(req)
	case DescribeTool:
		return f.describe(req)
	}
	return Result{}, junctor.Errorf(junctor.CodeInvalid, "%s wants the name of a tool, and its arguments as an object", CallTool)
}

// found is a tool as find_tools shows it.
type found struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

func (f *finder) find(req *Request) (Result, error) {
	query, _ := wire.String(wire.Get(req.Arguments, "query"))
	limit, ok := wire.Int(wire.Get(req.Arguments, "limit"))
	if !ok || limit < 1 || limit > 50 {
		limit = 10
	}
	matches := f.sh.Search(req.Principal, f.v, query, int(limit))
	tools := make([]found, 0, len(matches))
	for _, m := range matches {
		description := text(wire.Get(m.Tool.Default.JSON, "description"))
		tools = append(tools, found{f.sh.shownName(f.v, f.sh.byID[m.Tool.Server], m.Tool), clipTo(strings.TrimSpace(description), 200)})
	}
	out, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		return Result{}, junctor.Errorf(junctor.CodeInternal, "what was found cannot be written: %w", err)
	}
	return structured(out), nil
}

func (f *finder) describe(req *Request) (Result, error) {
	name, _ := wire.String(wire.Get(req.Arguments, "name"))
	item, err := f.sh.Tool(req.Principal, f.v, name, "")
	if err != nil {
		return Result{}, err
	}
	return structured(wire.AppendObject(nil, item.Tool.in(f.v.Profile).JSON, nil, member("name", name))), nil
}

// structured is a result that is one JSON object.
func structured(object []byte) Result {
	body := append([]byte(`{"content":[{"type":"text","text":`), wire.AppendString(nil, string(object))...)
	body = append(append(body, `}],"structuredContent":`...), object...)
	return Result{Body: append(body, '}')}
}
