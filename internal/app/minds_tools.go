package app

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxToldResult is how much of a result a model reads.
const maxToldResult = 64 << 10

// tools is what an agent may use in a turn, by the one pipeline.
type tools struct {
	app   *App
	p     *junctor.Principal
	room  string // in which the turn is, by its id; "" where it is in none
	view  catalog.View
	whole bool // every tool is listed, however many there are: it is no model that reads them
}

func (t *tools) shelf() *catalog.Shelf { return t.app.catalog.Snapshot().For(t.p.Tenant) }

// List implements agent.Tools.
func (t *tools) List(context.Context) ([]agent.Tool, error) {
	if t.whole {
		sh := t.shelf()
		all := sh.Describe(t.p, catalog.Filter{})
		out := make([]agent.Tool, 0, len(all))
		for _, d := range all {
			one := agent.Tool{
				Name: d.Exposed, Title: d.Title, Description: d.Description, Schema: d.InputSchema,
				Server: d.Server, Own: d.Name, View: d.App, Digest: d.Digest,
			}
			if item, err := sh.Tool(t.p, t.view, d.Exposed, ""); err == nil {
				one.ReadOnly = item.Tool.ReadOnly
			}
			out = append(out, one)
		}
		return out, nil
	}
	list, err := t.app.guard.List(t.p, t.view, catalog.ListTools)
	if err != nil {
		return nil, err
	}
	sh := t.shelf()
	var out []agent.Tool
	for raw := range wire.Elements(wire.Get(list, "tools")) {
		name, _ := wire.String(wire.Get(raw, "name"))
		out = append(out, t.told(sh, name, raw))
	}
	return out, nil
}

// told is a tool by its definition, under the name that the view shows.
func (t *tools) told(sh *catalog.Shelf, name string, definition []byte) agent.Tool {
	one := agent.Tool{Name: name, Schema: json.RawMessage(wire.Get(definition, "inputSchema"))}
	one.Title, _ = wire.String(wire.Get(definition, "title"))
	one.Description, _ = wire.String(wire.Get(definition, "description"))
	if item, err := sh.Tool(t.p, t.view, name, ""); err == nil {
		one.Server, one.Own, one.View = item.Server.ID, item.Name, item.Tool.Page()
		one.ReadOnly, one.Digest = item.Tool.ReadOnly, item.Tool.Digest
		return one
	}
	one.Server, one.Own = junctor.CatalogServer, name // one that stands for others
	if meta, ok := sh.Meta(t.p, t.view, name); ok {
		one.ReadOnly, one.Digest = meta.Tool.ReadOnly, meta.Tool.Digest
	}
	return one
}

// Resolve implements agent.Tools.
func (t *tools) Resolve(_ context.Context, c agent.Call) (agent.Tool, error) {
	sh := t.shelf()
	name := c.Name
	if meta, ok := sh.Meta(t.p, t.view, name); ok {
		inner, _, isCall := catalog.Unwrap(c.Arguments)
		if name != catalog.CallTool || !isCall {
			return agent.Tool{Name: name, Server: meta.Server.ID, Own: name, ReadOnly: meta.Tool.ReadOnly, Digest: meta.Tool.Digest}, nil
		}
		name = inner
	}
	item, err := sh.Tool(t.p, t.view, name, "")
	if err != nil {
		return agent.Tool{}, err
	}
	return t.told(sh, name, item.Tool.JSON), nil
}

// Call implements agent.Tools.
func (t *tools) Call(ctx context.Context, c agent.Call) agent.Result {
	res := agent.Result{CallID: c.ID}
	if err := wire.Check(c.Arguments); err != nil {
		res.IsError, res.Text = true, "the arguments cannot be taken: "+err.Error()
		return res
	}
	if real, err := t.Resolve(ctx, c); err == nil {
		res.Server, res.Tool, res.View = real.Server, real.Own, real.View
	}
	op := t.op(c)
	if until, ok := ctx.Deadline(); ok {
		op.Timeout = max(time.Until(until), time.Millisecond)
	}
	out, err := t.app.guard.Do(ctx, op, catalog.Discard{})
	res.Record = op.CallID
	switch {
	case err != nil:
		e := junctor.AsError(err)
		res.IsError, res.Text = true, e.Message
		if e.RetryAfter > 0 {
			res.Text += fmt.Sprintf(" (in %s)", e.RetryAfter.Round(time.Second))
		}
	case out.Input:
		res.IsError, res.Text = true, "the tool asks its caller for something, and nobody is there to answer: ask for it yourself, and call the tool with what you are told"
		if state, ok := wire.String(wire.Get(out.Body, "requestState")); ok { // else it would wait until it lapses
			op.RequestState, op.HasState = state, true
			t.app.guard.GiveUp(ctx, op, junctor.Errorf(junctor.CodeUnavailable, "the tool asks for input while it runs, which an agent's turn cannot give"))
		}
	default:
		res.Content, res.IsError, res.Text = json.RawMessage(out.Body), out.IsError, resultText(out.Body)
	}
	return res
}

// op is the operation that a call is.
func (t *tools) op(c agent.Call) *guard.Op {
	params := append(append(wire.AppendString([]byte(`{"name":`), c.Name), `,"arguments":`...), c.Arguments...)
	return &guard.Op{
		Principal: t.p, Door: junctor.DoorTurn, RoomID: t.room, View: t.view, Kind: junctor.KindTool, Name: c.Name,
		Params: append(params, '}'), Arguments: c.Arguments, Caller: catalog.Caller{Protocol: wire.Modern, Capabilities: []byte(turnCapabilities)},
	}
}

// turnCapabilities is what servers are told of an agent's turn: whoever reads it is
// shown the pages and the A2UI that results bring.
const turnCapabilities = `{"extensions":{"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `","` + a2ui.MimeType + `"]}}}`

// Refuse implements agent.Tools.
func (t *tools) Refuse(ctx context.Context, c agent.Call, why error) string {
	if wire.Check(c.Arguments) != nil {
		c.Arguments = json.RawMessage("{}")
	}
	op := t.op(c)
	_ = t.app.guard.RefuseCall(ctx, op, why) // why is known already
	return op.CallID
}

// resultText is what a model reads of a result: its texts, or its data where it
// has none, and what else there is by name.
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
	if len(text) > maxToldResult {
		text = strings.ToValidUTF8(text[:maxToldResult], "") + fmt.Sprintf("\n… (the first %d of %d bytes)", maxToldResult, len(text))
	}
	return text
}
