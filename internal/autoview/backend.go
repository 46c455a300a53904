package autoview

import (
	"context"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// URI is the address of the page among the resources of a server. No server has another
// resource there.
const URI = "ui://junctor-view/auto.html"

// With returns a backend whose tools have the page if they have no App of their own. A
// tool gets it if it declares an output schema or has answered with structured content;
// with all, every tool does.
func With(b catalog.Backend, all bool) catalog.Backend {
	return &pageBackend{Backend: b, allTools: all, notify: func(catalog.Event) {}, withoutPage: map[string]bool{}}
}

// pageBackend wraps a backend and adds the page to its offer.
type pageBackend struct {
	catalog.Backend
	allTools bool

	mu     sync.Mutex
	notify func(catalog.Event)
	// withoutPage has the tools that could have a page, by name: true until the tool has
	// answered with structured content, false from then on.
	withoutPage map[string]bool // tools without a page, by their name; false has answered data since
}

// Watch implements catalog.Backend.
func (v *pageBackend) Watch(notify func(catalog.Event)) {
	v.mu.Lock()
	v.notify = notify
	v.mu.Unlock()
	v.Backend.Watch(notify)
}

// Offer implements catalog.Backend.
func (v *pageBackend) Offer(ctx context.Context) (*catalog.Offer, error) {
	offer, err := v.Backend.Offer(ctx)
	if err != nil {
		return nil, err
	}
	next := *offer
	next.Tools = slices.Clone(offer.Tools)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range next.Tools {
		t := &next.Tools[i]
		plain, known := v.withoutPage[t.Name]
		switch {
		case !canHavePage(t.JSON):
			delete(v.withoutPage, t.Name)
		case v.allTools || known && !plain || wire.Get(t.JSON, "outputSchema") != nil:
			t.Page = URI
		default:
			v.withoutPage[t.Name] = true
		}
	}
	return &next, nil
}

// Do implements catalog.Backend.
func (v *pageBackend) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if req.Kind == junctor.KindResource && req.Name == URI {
		return readPage()
	}
	res, err := v.Backend.Do(ctx, req, sink)
	if req.Kind == junctor.KindTool && err == nil && !v.allTools && !res.IsError && !res.Input && !res.Task {
		v.noteStructuredContent(req.Name, res.Body)
	}
	return res, err
}

// noteStructuredContent gives a tool its page after it answered with structured content
// without declaring an output schema. The catalog then lists the offer again.
func (v *pageBackend) noteStructuredContent(tool string, body []byte) {
	if !wire.MentionsAny(body, `structuredContent"`) {
		return
	}
	v.mu.Lock()
	plain := v.withoutPage[tool]
	notify := v.notify
	if plain = plain && wire.Get(body, "structuredContent") != nil; plain {
		v.withoutPage[tool] = false
	}
	v.mu.Unlock()
	if plain {
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
}

// canHavePage reports whether a tool can get the page: it has none of its own, and models
// may call it.
func canHavePage(tool []byte) bool {
	meta := wire.Get(tool, "_meta")
	ui := wire.Get(meta, "ui")
	if wire.Get(ui, "resourceUri") != nil || wire.Get(meta, "ui/resourceUri") != nil {
		return false
	}
	visibility := wire.Get(ui, "visibility")
	if visibility == nil {
		return true
	}
	for who := range wire.Elements(visibility) {
		if name, _ := wire.String(who); name == "model" {
			return true
		}
	}
	return false
}

// readPage returns the page as the result of resources/read.
func readPage() (catalog.Result, error) {
	html, err := buildPage()
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "cannot build the page of generated App views: %w", err)
	}
	content := wire.AppendObject(nil, []byte(`{"uri":"`+URI+`","mimeType":"`+mcpapps.MIMEType+`","_meta":{"ui":{"prefersBorder":true}}}`), nil,
		wire.Member{Key: "text", Value: wire.AppendString(nil, string(html))})
	return catalog.Result{Body: append(append([]byte(`{"contents":[`), content...), "]}"...), TTL: time.Hour, Public: true}, nil
}
