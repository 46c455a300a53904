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

// mimeTypeKey is the member of a part's metadata with the type of its data.
const mimeTypeKey = "mimeType"

// surfaceEncoder converts surfaces to artifacts that one client can draw.
type surfaceEncoder struct {
	client      a2ui.Client
	shownIDs    []string // ids of surfaces that the client has already
	allowsLists bool     // data may be a list; not in version 0.3
	baseURL     string   // public base URL of this instance
	catalogs    *a2ui.Catalogs
}

// newSurfaceEncoder returns an encoder for a client that supports A2UI, according
// to the extensions and the metadata of its request. It is nil for a client that
// gets text only. before are the messages whose surfaces the client has.
func (s *Server) newSurfaceEncoder(ctx context.Context, c *caller, in *a2a.SendMessageRequest, before []agent.Message) *surfaceEncoder {
	// Clients state their capabilities in the request or in the message; the
	// message wins.
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
	out := &surfaceEncoder{client: client, allowsLists: c.version == version10, baseURL: strings.TrimSuffix(s.URL(), "/"), catalogs: s.Catalogs(ctx, c.agent.Tenant)}
	for _, m := range before {
		for i := range m.Surfaces {
			out.shownIDs = append(out.shownIDs, m.Surfaces[i].ID)
		}
	}
	return out
}

// showsApps reports whether the client can show App views: only if it names their
// catalog, which is not part of any card.
func (s *surfaceEncoder) showsApps() bool {
	return s != nil && s.client.NamesCatalog(a2ui.AppsCatalogID, s.catalogs)
}

// addEndpoints returns a surface whose App views name the MCP endpoint of their
// server, because the client does not know servers by name.
func (s *surfaceEncoder) addEndpoints(surface *a2ui.Surface) (*a2ui.Surface, error) {
	if !slices.Contains(surface.Catalogs, a2ui.AppsCatalogID) {
		return surface, nil
	}
	out := *surface
	out.Components = slices.Clone(surface.Components)
	for i, text := range out.Components {
		var c map[string]any
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, err
		}
		// A surface of a server can name an endpoint itself, which stays.
		server, _ := c["server"].(string)
		if c["component"] != a2ui.AppFrameComponent || server == "" || c["mcpEndpointUrl"] != nil {
			continue
		}
		c["mcpEndpointUrl"] = s.baseURL + "/mcp/s/" + url.PathEscape(server)
		var err error
		if out.Components[i], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// toArtifact converts a surface. Registered components that the client does not
// have are replaced by their fallbacks. It returns nil if the client cannot draw
// the surface, or its A2UI version cannot express it. It accepts a nil encoder.
func (s *surfaceEncoder) toArtifact(surface *a2ui.Surface) *a2a.Artifact {
	if s == nil {
		return nil
	}
	// The order matters: expand first, then ask whether the client can draw the
	// result.
	surface, err := s.catalogs.Expand(surface, func(id string) bool { return s.client.HasCatalog(id, s.catalogs) })
	if err != nil || !s.client.CanDraw(surface, s.catalogs) {
		return nil
	}
	if surface, err = s.addEndpoints(surface); err != nil {
		return nil
	}
	messages, err := a2ui.Encode(surface, s.client.Version, a2ui.EncodeOptions{Catalogs: s.catalogs, Replaces: slices.Contains(s.shownIDs, surface.ID)})
	if err != nil {
		return nil
	}
	s.shownIDs = append(s.shownIDs, surface.ID)
	data := messages
	if s.allowsLists {
		data = s.client.DataParts(messages)
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
		part.SetMeta(mimeTypeKey, s.client.MIMEType())
		out.Parts = append(out.Parts, part)
	}
	return out
}

// parseAction parses a data part that is an action on a surface or a report of a
// drawing error. It returns false if the part is something else. A part without a
// type counts as an action only if it has the form of A2UI v0.8.
func (h *parsedMessage) parseAction(p *a2a.Part, value any) (bool, error) {
	kind, _ := p.Metadata[mimeTypeKey].(string)
	object, _ := value.(map[string]any)
	_, old := object["userAction"].(map[string]any)
	if !a2ui.IsMIMEType(kind) && !a2ui.IsMIMEType(p.MediaType) && !old {
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
		h.message.Action = &actions[i]
		h.actionTexts = append(h.actionTexts, actions[i].Describe())
	}
	for _, r := range reports {
		h.actionTexts = append(h.actionTexts, fmt.Sprintf("(the client could not show it: %s)", r.Error()))
	}
	return true, nil
}

// listExtensions returns the A2UI extensions of a card: one per version, with the
// catalogs that an agent may use in its answers.
func listExtensions(known *a2ui.Catalogs) (out []a2a.AgentExtension) {
	add := func(uri string, v a2ui.Version) {
		ids := []any{a2ui.BasicCatalogID(v), a2ui.BankingCatalogID, a2ui.MapsCatalogID}
		for _, c := range known.All() {
			if c.Registered {
				ids = append(ids, c.ID)
			}
		}
		out = append(out, a2a.AgentExtension{
			URI: uri, Description: "Answers with interface, as A2UI " + string(v), Params: map[string]any{"supportedCatalogIds": ids, "acceptsInlineCatalogs": false},
		})
	}
	add(a2ui.ExtensionURI091, a2ui.V09)
	for _, v := range a2ui.Versions() {
		add(a2ui.ExtensionURI(v), v)
	}
	return out
}
