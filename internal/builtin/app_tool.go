package builtin

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// AddView adds the page of an App as a ui:// resource.
func (s *Server) AddView(v *mcpapps.View) error {
	if err := v.Validate(); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "server %q: %w", s.id, err)
	}
	meta, err := json.Marshal(v.Resource().Meta)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "server %q: the metadata of %s: %w", s.id, v.URI, err)
	}
	r := Resource{URI: v.URI, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: mcpapps.MIMEType}
	if string(meta) != "null" {
		r.Meta = meta
	}
	return s.AddResource(r, func(ctx context.Context, _ *Call, _ string) ([]Contents, error) {
		page, err := v.Page(ctx)
		if err != nil {
			return nil, err
		}
		return []Contents{{Text: page}}, nil
	})
}

// AppHandler runs a tool of an App. Its reply has text for the model and data
// for the App view.
type AppHandler[In, Out any] func(ctx context.Context, call *Call, in In) (mcpapps.Reply[Out], error)

// AddAppTool adds a tool with the metadata of an App: the page that shows its
// result, or the audience that may see it. Schemas are inferred as by AddTool.
func AddAppTool[In, Out any](s *Server, meta mcpapps.ToolMeta, t Tool, h AppHandler[In, Out]) error {
	if _, err := newTypedCodec[In, Out](&t); err != nil {
		return err
	}
	var err error
	if t.Meta, err = json.Marshal(meta.Meta()); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q: %w", t.Name, err)
	}
	return AddTool(s, t, func(ctx context.Context, call *Call, in In) (Result, error) {
		r, err := h(ctx, call, in)
		if err != nil {
			return Result{}, err
		}
		res, err := StructuredResult(r.Data)
		if err == nil && r.Text != "" {
			res.Content = []Content{Text(r.Text)}
		}
		return res, err
	})
}
