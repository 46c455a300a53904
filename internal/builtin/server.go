package builtin

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Options are the parts of a Server that may be left out.
type Options struct {
	Instructions string       // for models: how the tools belong together
	Logger       *slog.Logger // takes panics of handlers; nil discards
}

// Server is a registry of Go tools, resources and prompts, and the backend that
// runs them. It is safe for concurrent use.
type Server struct {
	id, title string
	opts      Options
	log       *slog.Logger

	mu     sync.Mutex // held by those who change items
	items  atomic.Pointer[items]
	notify atomic.Pointer[func(catalog.Event)]
}

var _ catalog.Backend = (*Server)(nil)

// items is everything a Server has at one moment. It is never changed, only
// replaced, so a call goes on with what it found when it began.
type items struct {
	tools     map[string]*toolVersions
	resources map[string]*resource
	templates map[string]*template
	prompts   map[string]*prompt

	// The order in which things were added, which is the order of the lists.
	toolOrder, resourceOrder, templateOrder, promptOrder []string
}

// New makes an empty server. The title is for people.
func New(id, title string, opts Options) (*Server, error) {
	if err := junctor.CheckServerID(id); err != nil {
		return nil, err
	}
	s := &Server{id: id, title: title, opts: opts, log: opts.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.items.Store(&items{})
	return s, nil
}

// ID is the server's id.
func (s *Server) ID() string { return s.id }

// Title is the server's name for people.
func (s *Server) Title() string { return s.title }

// Watch implements catalog.Backend.
func (s *Server) Watch(notify func(catalog.Event)) { s.notify.Store(&notify) }

// Updated tells whoever subscribed that the resource at uri has new content.
func (s *Server) Updated(uri string) {
	s.send(catalog.Event{Kind: catalog.EventUpdated, URI: uri})
}

func (s *Server) send(e catalog.Event) {
	if notify := s.notify.Load(); notify != nil && *notify != nil {
		(*notify)(e)
	}
}

// change replaces the items by what edit makes of a copy, and reports it.
func (s *Server) change(edit func(*items) error) error {
	s.mu.Lock()
	next := s.items.Load().clone()
	err := edit(next)
	if err == nil {
		s.items.Store(next)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.send(catalog.Event{Kind: catalog.EventChanged})
	return nil
}

func (it *items) clone() *items {
	return &items{
		tools:         cloneMap(it.tools),
		resources:     cloneMap(it.resources),
		templates:     cloneMap(it.templates),
		prompts:       cloneMap(it.prompts),
		toolOrder:     slices.Clone(it.toolOrder),
		resourceOrder: slices.Clone(it.resourceOrder),
		templateOrder: slices.Clone(it.templateOrder),
		promptOrder:   slices.Clone(it.promptOrder),
	}
}

func cloneMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return make(map[string]V)
	}
	return maps.Clone(m)
}

// Offer implements catalog.Backend. Each definition was rendered when its item
// was added; here they are only gathered.
func (s *Server) Offer(context.Context) (*catalog.Offer, error) {
	it := s.items.Load()
	o := &catalog.Offer{
		Instructions: s.opts.Instructions,
		Subscribe:    len(it.resources)+len(it.templates) > 0,
		Logging:      true,
	}
	for _, name := range it.toolOrder {
		versions := it.tools[name]
		for i, t := range versions.all {
			o.Tools = append(o.Tools, catalog.ToolDef{
				Name: t.Name, Version: t.Version, Timeout: t.Timeout, JSON: t.json,
				Default: len(versions.all) > 1 && i == versions.preferred,
			})
		}
	}
	for _, uri := range it.resourceOrder {
		o.Resources = append(o.Resources, catalog.ResourceDef{URI: uri, JSON: it.resources[uri].json})
	}
	for _, uri := range it.templateOrder {
		t := it.templates[uri]
		o.Templates = append(o.Templates, catalog.ResourceDef{URI: uri, JSON: t.json})
		o.Completions = o.Completions || len(t.Complete) > 0
	}
	for _, name := range it.promptOrder {
		p := it.prompts[name]
		o.Prompts = append(o.Prompts, catalog.PromptDef{Name: name, JSON: p.json})
		o.Completions = o.Completions || p.completes()
	}
	return o, nil
}

// drop removes name from order.
func drop(order []string, name string) []string {
	return slices.DeleteFunc(order, func(s string) bool { return s == name })
}

// notFound does not repeat a resource's URI, which may hold a credential.
func (s *Server) notFound(what, name string) *junctor.Error {
	if what == "resource" {
		return junctor.Errorf(junctor.CodeNotFound, "server %q has no resource at this URI", s.id)
	}
	return junctor.Errorf(junctor.CodeNotFound, "server %q has no %s %q", s.id, what, name)
}
