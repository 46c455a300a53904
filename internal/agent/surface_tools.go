package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// showSurfaceTool is the name of the tool with which a model shows interface. Names
// of server tools contain two underscores, so the name cannot collide.
const showSurfaceTool = "show_surface"

// AddSurfaceTool adds a tool to t with which a model shows an A2UI surface made of
// known components. It is for callers that can draw surfaces.
func AddSurfaceTool(t Tools, known *a2ui.Catalogs) Tools { return &surfaceTools{t, known} }

// surfaceTools is the implementation of AddSurfaceTool.
type surfaceTools struct {
	Tools
	known *a2ui.Catalogs
}

// newShowTool returns the definition of the added tool.
func (w *surfaceTools) newShowTool() Tool {
	return Tool{
		Name: showSurfaceTool, OriginalName: showSurfaceTool, Title: "Show interface", ReadOnly: true, Description: describeComponents(w.known),
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id","components"],"properties":{` +
			`"id":{"type":"string","description":"a short name; showing it again replaces what was shown under it"},` +
			`"catalogs":{"type":"array","items":{"type":"string"},"description":"ids of catalogs beside the basic one"},` +
			`"components":{"type":"array","minItems":1,"items":{"type":"object","required":["id","component"]},"description":"flat, each {\"id\":…,\"component\":…, its properties}; one has the id root"},` +
			`"data":{"type":"object","description":"what {\"path\":\"/a/b\"} in properties refers to"}}}`),
	}
}

// describeComponents returns the description of the tool for the model: the rules
// of surfaces, and every known component with its properties.
func describeComponents(known *a2ui.Catalogs) string {
	var b strings.Builder
	b.WriteString("Show the person interface beside your words: cards, lists, forms, buttons, maps (A2UI v0.9, flat components). A child is named by its id. A text, number or flag may be bound to the data " +
		`by {"path":"/a/b"}; children may be {"componentId":…,"path":"/list"}, one for each member of a list, with paths inside it relative. A button's action is {"event":{"name":…,"context":{…}}}: its press comes ` +
		"back as the person's next message. Components (what is needed stands before the semicolon): ")
	for _, catalog := range known.All() {
		if !catalog.Basic {
			fmt.Fprintf(&b, "Of the catalog %s: ", catalog.ID)
		}
		for _, c := range catalog.Components {
			var needed, other []string
			for _, p := range c.Properties {
				if p.Required {
					needed = append(needed, p.Name)
				} else {
					other = append(other, p.Name)
				}
			}
			fmt.Fprintf(&b, "%s(%s; %s). ", c.Name, strings.Join(needed, ", "), strings.Join(other, ", "))
		}
	}
	return strings.TrimSpace(b.String())
}

// List returns the wrapped tools and the added one.
func (w *surfaceTools) List(ctx context.Context) ([]Tool, error) {
	list, err := w.Tools.List(ctx)
	return append(slices.Clone(list), w.newShowTool()), err
}

// Resolve knows the wrapped tools and the added one.
func (w *surfaceTools) Resolve(ctx context.Context, c Call) (Tool, error) {
	if c.Name == showSurfaceTool {
		return w.newShowTool(), nil
	}
	return w.Tools.Resolve(ctx, c)
}

// Call makes a call of the wrapped tools, or shows a surface. The surface is part
// of the result, like that of a server, so it takes the same path to the client.
func (w *surfaceTools) Call(ctx context.Context, c Call) Result {
	if c.Name != showSurfaceTool {
		return w.Tools.Call(ctx, c)
	}
	content, err := encodeSurfaceResult(c.Arguments, w.known)
	if err != nil {
		return Result{CallID: c.ID, IsError: true, Text: "nothing was shown: " + err.Error()}
	}
	return Result{CallID: c.ID, Text: "it is shown", Content: content}
}

// encodeSurfaceResult checks the arguments of the tool and returns a CallToolResult
// that contains the surface. Errors tell the model what to correct.
func encodeSurfaceResult(arguments json.RawMessage, known *a2ui.Catalogs) (json.RawMessage, error) {
	var s a2ui.Surface
	if err := strict.Unmarshal(arguments, &s, strict.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the arguments are not a valid surface: %w", err)
	}
	if err := s.FirstProblem(s.Check(known), a2ui.GradeBroken, a2ui.GradeWrong, a2ui.GradeUnknown); err != nil {
		return nil, err
	}
	messages, err := a2ui.Encode(&s, a2ui.V09, a2ui.EncodeOptions{Catalogs: known})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(messages)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"content": []any{
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "a2ui://" + s.ID, "mimeType": a2ui.MIMEType, "text": string(text)}},
	}})
}
