package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// mimeType is the member of a part's metadata that says what its data is.
const mimeType = "mimeType"

// screen is what a client draws of what an agent shows.
type screen struct {
	client a2ui.Client
	shown  []string // ids of surfaces that it has
	whole  bool     // data may be a list, as it may not in version 0.3
	at     string   // where clients reach us
	known  *a2ui.Catalogs
}

// screenOf reads what a client can draw; nil where it is to be answered with text
// alone.
func (s *Server) screenOf(ctx context.Context, c *caller, in *a2a.SendMessageRequest, before []agent.Message) *screen {
	metadata := map[string]json.RawMessage{}
	for _, of := range []map[string]any{in.Metadata, in.Message.Metadata} {
		for name, value := range of {
			if text, err := json.Marshal(value); err == nil {
				metadata[name] = text
			}
		}
	}
	client, ok := a2ui.Negotiate(slices.Concat(c.extensions, in.Message.Extensions), metadata)
	if !ok {
		return nil
	}
	out := &screen{client: client, whole: c.version == v10, at: strings.TrimSuffix(s.URL(), "/"), known: s.Catalogs(ctx, c.agent.Tenant)}
	for _, m := range before {
		for i := range m.Surfaces {
			out.shown = append(out.shown, m.Surfaces[i].ID)
		}
	}
	return out
}

// apps says whether the client shows Apps: only one that names their catalogue
// does, which no card lists.
func (s *screen) apps() bool {
	return s != nil && s.client.Names(a2ui.AppsCatalog, s.known)
}

// outside is a surface for who does not know our servers by their names: Apps
// have the addresses of theirs.
func (s *screen) outside(surface *a2ui.Surface) (*a2ui.Surface, error) {
	if !slices.Contains(surface.Catalogs, a2ui.AppsCatalog) {
		return surface, nil
	}
	out := *surface
	out.Components = slices.Clone(surface.Components)
	for i, text := range out.Components {
		var c map[string]any
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, err
		}
		server, _ := c["server"].(string)
		if c["component"] != a2ui.AppFrame || server == "" || c["mcpEndpointUrl"] != nil {
			continue
		}
		c["mcpEndpointUrl"] = s.at + "/mcp/s/" + url.PathEscape(server)
		var err error
		if out.Components[i], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// artifact is a surface as the client takes it: with fallbacks for registered
// components that it does not have. nil where it cannot draw it, or its version has no
// words for it.
func (s *screen) artifact(surface *a2ui.Surface) *a2a.Artifact {
	if s == nil {
		return nil
	}
	surface, err := s.known.Expand(surface, func(id string) bool { return s.client.Has(id, s.known) })
	if err != nil || !s.client.Draws(surface, s.known) {
		return nil
	}
	if surface, err = s.outside(surface); err != nil {
		return nil
	}
	messages, err := a2ui.Encode(surface, s.client.Version, a2ui.Options{Known: s.known, Replaces: slices.Contains(s.shown, surface.ID)})
	if err != nil {
		return nil
	}
	s.shown = append(s.shown, surface.ID)
	data := messages
	if s.whole {
		data = s.client.Parts(messages)
	}
	out := &a2a.Artifact{ID: a2a.ArtifactID("surface-" + surface.ID), Name: surface.ID}
	if s.client.Extension != "" {
		out.Extensions = []string{s.client.Extension}
	}
	for _, one := range data {
		var value any
		if json.Unmarshal(one, &value) != nil {
			return nil
		}
		part := a2a.NewDataPart(value)
		part.SetMeta(mimeType, s.client.MimeType())
		out.Parts = append(out.Parts, part)
	}
	return out
}

// acted reads what a person did on a surface, of a part that says that it is
// that. Data that says nothing is taken for it only where it cannot be anything
// else.
func (h *heard) acted(p *a2a.Part, value any) (bool, error) {
	kind, _ := p.Metadata[mimeType].(string)
	object, _ := value.(map[string]any)
	_, old := object["userAction"].(map[string]any)
	if !a2ui.IsMimeType(kind) && !a2ui.IsMimeType(p.MediaType) && !old {
		return false, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return false, err
	}
	actions, reports, err := a2ui.ReadActions(text)
	if err != nil {
		return false, err
	}
	for i := range actions {
		h.said.Action = &actions[i]
		h.done = append(h.done, actions[i].Sentence())
	}
	for _, r := range reports {
		h.done = append(h.done, fmt.Sprintf("(the client could not show it: %s)", r.Error()))
	}
	return true, nil
}

// extensions are what a card says of A2UI: each version, with the catalogues
// whose components an agent may answer with.
func extensions(known *a2ui.Catalogs) (out []a2a.AgentExtension) {
	add := func(uri string, v a2ui.Version) {
		ids := []any{a2ui.BasicCatalog(v), a2ui.BankingCatalog, a2ui.MapsCatalog}
		for _, c := range known.All() {
			if c.Registered {
				ids = append(ids, c.ID)
			}
		}
		out = append(out, a2a.AgentExtension{
			URI: uri, Description: "Answers with interface, as A2UI " + string(v), Params: map[string]any{"supportedCatalogIds": ids, "acceptsInlineCatalogs": false},
		})
	}
	add(a2ui.Extension091, a2ui.V09)
	for _, v := range a2ui.Versions() {
		add(a2ui.Extension(v), v)
	}
	return out
}
