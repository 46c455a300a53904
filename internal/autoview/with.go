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

// URI is the page under the server's own names. No server has another there.
const URI = "ui://junctor-view/auto.html"

// With gives a backend whose tools have the page where they have no App of their
// own: those that say what data they answer, or did answer data, and every one
// where all is set.
func With(b catalog.Backend, all bool) catalog.Backend {
	return &viewed{Backend: b, all: all, notify: func(catalog.Event) {}, plain: map[string]bool{}}
}

type viewed struct {
	catalog.Backend
	all bool

	mu     sync.Mutex
	notify func(catalog.Event)
	plain  map[string]bool // tools without a page, by their name; false has answered data since
}

// Watch implements catalog.Backend.
func (v *viewed) Watch(notify func(catalog.Event)) {
	v.mu.Lock()
	v.notify = notify
	v.mu.Unlock()
	v.Backend.Watch(notify)
}

// Offer implements catalog.Backend.
func (v *viewed) Offer(ctx context.Context) (*catalog.Offer, error) {
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
		plain, known := v.plain[t.Name]
		switch {
		case !free(t.JSON):
			delete(v.plain, t.Name)
		case v.all || known && !plain || wire.Get(t.JSON, "outputSchema") != nil:
			t.Page = URI
		default:
			v.plain[t.Name] = true
		}
	}
	return &next, nil
}

// Do implements catalog.Backend.
func (v *viewed) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if req.Kind == junctor.KindResource && req.Name == URI {
		return read()
	}
	res, err := v.Backend.Do(ctx, req, sink)
	if req.Kind == junctor.KindTool && err == nil && !v.all && !res.IsError && !res.Input && !res.Task {
		v.learn(req.Name, res.Body)
	}
	return res, err
}

// learn gives a tool its page once it has answered data without having said that
// it would.
func (v *viewed) learn(tool string, body []byte) {
	if !wire.Mentions(body, `structuredContent"`) {
		return
	}
	v.mu.Lock()
	plain := v.plain[tool]
	notify := v.notify
	if plain = plain && wire.Get(body, "structuredContent") != nil; plain {
		v.plain[tool] = false
	}
	v.mu.Unlock()
	if plain {
		notify(catalog.Event{Kind: catalog.EventChanged})
	}
}

// free says whether a tool can be given a page: it has none, and models may call
// it.
func free(tool []byte) bool {
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

// read gives the page as the result of resources/read.
func read() (catalog.Result, error) {
	html, err := page()
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the page of generated Views cannot be put together: %w", err)
	}
	content := wire.AppendObject(nil, []byte(`{"uri":"`+URI+`","mimeType":"`+mcpapps.MIMEType+`","_meta":{"ui":{"prefersBorder":true}}}`), nil,
		wire.Member{Key: "text", Value: wire.AppendString(nil, string(html))})
	return catalog.Result{Body: append(append([]byte(`{"contents":[`), content...), "]}"...), TTL: time.Hour, Public: true}, nil
}
