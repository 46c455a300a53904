package agents

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxResultText is how many bytes of a result a model reads.
const maxResultText = 64 << 10

// turnTools are the tools of an agent in a turn. Every call passes the pipeline.
type turnTools struct {
	catalog  *catalog.Catalog
	pipeline Pipeline
	p        *junctor.Principal
	room     string // id of the room of the turn; "" if there is none
	view     catalog.Scope
	listAll  bool // list every tool: rules read the list, and no budget of a model applies
}

func (t *turnTools) shelf() *catalog.Shelf { return t.catalog.Snapshot().For(t.p.Tenant) }

// List implements agent.Tools.
func (t *turnTools) List(context.Context) ([]agent.Tool, error) {
	if t.listAll {
		sh := t.shelf()
		all := sh.Describe(t.p, catalog.Filter{})
		out := make([]agent.Tool, 0, len(all))
		for _, d := range all {
			one := agent.Tool{
				Name: d.Exposed, Title: d.Title, Description: d.Description, Schema: d.InputSchema,
				Server: d.Server, OriginalName: d.Name, ViewURI: d.App, Digest: d.Digest,
			}
			if item, err := sh.Tool(t.p, t.view, d.Exposed, ""); err == nil {
				one.ReadOnly = item.Tool.ReadOnly
			}
			out = append(out, one)
		}
		return out, nil
	}
	list, err := t.pipeline.List(t.p, t.view, catalog.ListTools)
	if err != nil {
		return nil, err
	}
	sh := t.shelf()
	var out []agent.Tool
	for raw := range wire.Elements(wire.Get(list, "tools")) {
		name, _ := wire.String(wire.Get(raw, "name"))
		out = append(out, t.describeTool(sh, name, raw))
	}
	return out, nil
}

// describeTool returns a tool by its definition, under the name that the scope shows.
func (t *turnTools) describeTool(sh *catalog.Shelf, name string, definition []byte) agent.Tool {
	one := agent.Tool{Name: name, Schema: json.RawMessage(wire.Get(definition, "inputSchema"))}
	one.Title, _ = wire.String(wire.Get(definition, "title"))
	one.Description, _ = wire.String(wire.Get(definition, "description"))
	if item, err := sh.Tool(t.p, t.view, name, ""); err == nil {
		one.Server, one.OriginalName, one.ViewURI = item.Server.ID, item.Name, item.Tool.Page()
		one.ReadOnly, one.Digest = item.Tool.ReadOnly, item.Tool.Digest
		return one
	}
	one.Server, one.OriginalName = junctor.CatalogServer, name // a meta tool, which finds and calls others
	if meta, ok := sh.Meta(t.p, t.view, name); ok {
		one.ReadOnly, one.Digest = meta.Tool.ReadOnly, meta.Tool.Digest
	}
	return one
}

// Resolve implements agent.Tools.
func (t *turnTools) Resolve(_ context.Context, c agent.Call) (agent.Tool, error) {
	sh := t.shelf()
	name := c.Name
	if meta, ok := sh.Meta(t.p, t.view, name); ok {
		inner, _, isCall := catalog.Unwrap(c.Arguments)
		if name != catalog.CallTool || !isCall {
			return agent.Tool{Name: name, Server: meta.Server.ID, OriginalName: name, ReadOnly: meta.Tool.ReadOnly, Digest: meta.Tool.Digest}, nil
		}
		name = inner
	}
	item, err := sh.Tool(t.p, t.view, name, "")
	if err != nil {
		return agent.Tool{}, err
	}
	return t.describeTool(sh, name, item.Tool.JSON), nil
}

// Call implements agent.Tools.
func (t *turnTools) Call(ctx context.Context, c agent.Call) agent.Result {
	res := agent.Result{CallID: c.ID}
	if err := wire.CheckJSON(c.Arguments); err != nil {
		res.IsError, res.Text = true, "the arguments are invalid: "+err.Error()
		return res
	}
	if real, err := t.Resolve(ctx, c); err == nil {
		res.Server, res.Tool, res.ViewURI = real.Server, real.OriginalName, real.ViewURI
	}
	// The limits of the turn end ctx. Beside them those of the tool's server apply.
	op := t.newOp(c)
	out, err := t.pipeline.Do(ctx, op, catalog.Discard{})
	res.Record = op.CallID
	switch {
	case err != nil:
		e := junctor.AsError(err)
		res.IsError, res.Text = true, e.Message
		if e.RetryAfter > 0 {
			res.Text += fmt.Sprintf(" (in %s)", e.RetryAfter.Round(time.Second))
		}
	case out.Input:
		res.IsError, res.Text = true, "the tool requests input, which it cannot get during this call: ask the user for it, and call the tool again with the answer in its arguments"
		if state, ok := wire.String(wire.Get(out.Body, "requestState")); ok { // else it would wait until it lapses
			op.RequestState, op.HasState = state, true
			t.pipeline.AbandonCall(ctx, op, junctor.Errorf(junctor.CodeUnavailable, "the tool requests input while it runs, which an agent's turn does not support"))
		}
	default:
		res.Content, res.IsError, res.Text = json.RawMessage(out.Body), out.IsError, resultText(out.Body)
	}
	return res
}

// newOp returns the operation of a call.
func (t *turnTools) newOp(c agent.Call) *guard.Op {
	params := append(append(wire.AppendString([]byte(`{"name":`), c.Name), `,"arguments":`...), c.Arguments...)
	return &guard.Op{
		Principal: t.p, EntryPoint: junctor.EntryTurn, RoomID: t.room, Scope: t.view, Kind: junctor.KindTool, Name: c.Name,
		Params: append(params, '}'), Arguments: c.Arguments, Caller: catalog.Caller{Protocol: wire.ModernVersion, Capabilities: []byte(turnCapabilities)},
	}
}

// turnCapabilities are the client capabilities that servers receive with calls of a
// turn: the reader of the turn is shown the App views and the A2UI of results.
const turnCapabilities = `{"extensions":{"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `","` + a2ui.MIMEType + `"]}}}`

// RecordRefusal implements agent.Tools.
func (t *turnTools) RecordRefusal(ctx context.Context, c agent.Call, why error) string {
	if wire.CheckJSON(c.Arguments) != nil {
		c.Arguments = json.RawMessage("{}")
	}
	op := t.newOp(c)
	_ = t.pipeline.RecordCallRefusal(ctx, op, why) // why is known already
	return op.CallID
}

// resultText returns what a model reads of a result: its texts, or its structured
// content if it has no other, and a placeholder for each part that is not text.
func resultText(body []byte) string {
	var parts []string
	for raw := range wire.Elements(wire.Get(body, "content")) {
		kind, _ := wire.String(wire.Get(raw, "type"))
		switch kind {
		case "text":
			text, _ := wire.String(wire.Get(raw, "text"))
			parts = append(parts, text)
		case "resource":
			inner := wire.Get(raw, "resource")
			uri, _ := wire.String(wire.Get(inner, "uri"))
			text, ok := wire.String(wire.Get(inner, "text"))
			if !ok {
				text = "(not text)"
			}
			parts = append(parts, uri+":\n"+text)
		case "resource_link":
			uri, _ := wire.String(wire.Get(raw, "uri"))
			parts = append(parts, "see "+uri)
		default: // an image, a sound, or what is still to come
			data, _ := wire.String(wire.Get(raw, "data"))
			media, _ := wire.String(wire.Get(raw, "mimeType"))
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("(%s %s, %d bytes)", kind, media, base64.StdEncoding.DecodedLen(len(data)))))
		}
	}
	if data := wire.Get(body, "structuredContent"); len(parts) == 0 && data != nil {
		parts = append(parts, string(data))
	}
	text := strings.Join(parts, "\n")
	if len(text) > maxResultText {
		text = strings.ToValidUTF8(text[:maxResultText], "") + fmt.Sprintf("\n… (the first %d of %d bytes)", maxResultText, len(text))
	}
	return text
}

// toolListRecorder is a model of which each request is recorded as a list of tools, because
// the definitions of the tools are in each.
type toolListRecorder struct {
	agent.Provider
	pipeline Pipeline
	p        *junctor.Principal
}

// Stream implements agent.Provider.
func (r toolListRecorder) Stream(ctx context.Context, request agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	bytes := 0
	for i := range request.Tools {
		t := &request.Tools[i]
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	if bytes > 0 {
		r.pipeline.RecordToolList(ctx, r.p, junctor.EntryTurn, "", bytes)
	}
	return r.Provider.Stream(ctx, request)
}
