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

// Options are the optional parts of a Server.
type Options struct {
	Instructions string       // for models: how to use the tools together
	Logger       *slog.Logger // logs panics of handlers; nil discards them
}

// Server is a registry of Go tools, resources and prompts, and the backend that
// runs them. It is safe for concurrent use.
type Server struct {
	id, title string
	opts      Options
	log       *slog.Logger

	mu       sync.Mutex // serialises changes of registry; readers load it
	registry atomic.Pointer[registry]
	notify   atomic.Pointer[func(catalog.Event)]
}

var _ catalog.Backend = (*Server)(nil)

// registry is everything that a Server has at one moment. It is never changed,
// only replaced, so a call continues with the items that it found when it
// began.
type registry struct {
	tools     map[string]*toolVersions
	resources map[string]*registeredResource
	templates map[string]*registeredTemplate
	prompts   map[string]*registeredPrompt

	// Names in the order in which items were added, which is the order of the lists.
	toolOrder, resourceOrder, templateOrder, promptOrder []string
}

// New makes an empty server. The title is for users.
func New(id, title string, opts Options) (*Server, error) {
	if err := junctor.CheckServerID(id); err != nil {
		return nil, err
	}
	s := &Server{id: id, title: title, opts: opts, log: opts.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.registry.Store(&registry{})
	return s, nil
}

// ID returns the server's id.
func (s *Server) ID() string { return s.id }

// Title returns the server's name for users.
func (s *Server) Title() string { return s.title }

// Watch implements catalog.Backend.
func (s *Server) Watch(notify func(catalog.Event)) { s.notify.Store(&notify) }

// Updated notifies subscribers that the resource at uri has new content.
func (s *Server) Updated(uri string) {
	s.sendEvent(catalog.Event{Kind: catalog.EventUpdated, URI: uri})
}

// sendEvent reports an event to the catalog, if the server is attached.
func (s *Server) sendEvent(e catalog.Event) {
	if notify := s.notify.Load(); notify != nil && *notify != nil {
		(*notify)(e)
	}
}

// changeRegistry replaces the registry by a copy that edit has changed, and
// reports the change. If edit returns an error, the registry stays as it is.
func (s *Server) changeRegistry(edit func(*registry) error) error {
	s.mu.Lock()
	next := s.registry.Load().clone()
	err := edit(next)
	if err == nil {
		s.registry.Store(next)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.sendEvent(catalog.Event{Kind: catalog.EventChanged})
	return nil
}

// clone returns a copy whose maps and slices may be changed.
func (it *registry) clone() *registry {
	return &registry{
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

// cloneMap clones a map; nil becomes an empty map.
func cloneMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return make(map[string]V)
	}
	return maps.Clone(m)
}

// Offer implements catalog.Backend. Definitions were rendered when the items
// were added; here they are only collected.
func (s *Server) Offer(context.Context) (*catalog.Offer, error) {
	it := s.registry.Load()
	o := &catalog.Offer{
		Instructions: s.opts.Instructions,
		Subscribe:    len(it.resources)+len(it.templates) > 0,
		Logging:      true,
	}
	for _, name := range it.toolOrder {
		versions := it.tools[name]
		for i, t := range versions.versions {
			o.Tools = append(o.Tools, catalog.ToolDef{
				Name: t.Name, Version: t.Version, Limits: catalog.NewCallLimits(junctor.LimitOfBuiltin, t.Timeout, 0), JSON: t.definition,
				Default: len(versions.versions) > 1 && i == versions.preferred,
			})
		}
	}
	for _, uri := range it.resourceOrder {
		o.Resources = append(o.Resources, catalog.ResourceDef{URI: uri, JSON: it.resources[uri].definition})
	}
	for _, uri := range it.templateOrder {
		t := it.templates[uri]
		o.Templates = append(o.Templates, catalog.ResourceDef{URI: uri, JSON: t.definition})
		o.Completions = o.Completions || len(t.Complete) > 0
	}
	for _, name := range it.promptOrder {
		p := it.prompts[name]
		o.Prompts = append(o.Prompts, catalog.PromptDef{Name: name, JSON: p.definition})
		o.Completions = o.Completions || p.hasCompletions()
	}
	return o, nil
}

// removeName removes a name from an order.
func removeName(order []string, name string) []string {
	return slices.DeleteFunc(order, func(s string) bool { return s == name })
}

// notFound returns the error for an unknown item. It does not repeat the URI of
// a resource, which may contain a credential.
func (s *Server) notFound(what, name string) *junctor.Error {
	if what == "resource" {
		return junctor.Errorf(junctor.CodeNotFound, "server %q has no resource at this URI", s.id)
	}
	return junctor.Errorf(junctor.CodeNotFound, "server %q has no %s %q", s.id, what, name)
}
