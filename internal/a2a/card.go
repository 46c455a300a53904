package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// cardMaxAge is how long a client may cache a card, in seconds.
const cardMaxAge = 60

// serveDefaultCard serves the card at the well-known path without a name: that of
// the first published agent.
func (s *Server) serveDefaultCard(w http.ResponseWriter, r *http.Request) {
	a, err := s.Store.FirstPublished(r.Context())
	s.writeCard(w, r, a, a.Name, err)
}

// serveCard serves the card of a named agent. It needs no authentication, because
// it tells clients which key they need.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	address := r.PathValue("agent")
	a, err := s.Store.PublishedAgent(r.Context(), address)
	s.writeCard(w, r, a, address, err)
}

// writeCard writes a card, or the error err with which the agent was not found.
func (s *Server) writeCard(w http.ResponseWriter, r *http.Request, a junctor.Agent, address string, err error) {
	var text []byte
	if err == nil {
		// A client that names version 1.0 gets a card of that version. Others may be of
		// version 0.3, whose clients name none.
		if version, verr := parseVersion(r); verr == nil && version == version10 {
			text, err = s.encodeCurrentCard(r.Context(), &a, address)
		} else {
			text, err = s.encodeCompatibleCard(r.Context(), &a, address)
		}
	}
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		writeRESTError(w, http.StatusNotFound, newProblem(a2a.ErrMethodNotFound, "no published agent has this name"))
		return
	case err != nil:
		s.Log.Error("cannot serve the agent card", "error", err, "cause", junctor.AsError(err).Cause)
		writeRESTError(w, 0, toProtocolError(err))
		return
	}
	// The tag depends on the content only, so that replicas agree on it.
	sum := sha256.Sum256(text)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", cardMaxAge))
	h.Set("Vary", a2a.SvcParamVersion)
	h.Set("Last-Modified", a.UpdatedAt.UTC().Format(http.TimeFormat))
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text) //nolint:gosec // our own JSON, sent as JSON; a failed write means that the client has disconnected
}

// keyScheme is the name of the only security scheme.
const keyScheme = "key"

// agentURL returns the base URL of an agent.
func (s *Server) agentURL(address string) string {
	return strings.TrimSuffix(s.URL(), "/") + "/a2a/" + address + "/"
}

// newCard returns the card of an agent whose URL has the given name.
func (s *Server) newCard(ctx context.Context, a *junctor.Agent, address string) *a2a.AgentCard {
	at := s.agentURL(address)
	newInterface := func(url string, by a2a.TransportProtocol, version string) *a2a.AgentInterface {
		return &a2a.AgentInterface{URL: url, ProtocolBinding: by, ProtocolVersion: a2a.ProtocolVersion(version)}
	}
	name := cmp.Or(a.Title, a.Name)
	return &a2a.AgentCard{
		Name: name, Description: fmt.Sprintf("%s, an agent for %s.", name, a.Role), Version: a.UpdatedAt.UTC().Format("2006.1.2-150405"),
		SupportedInterfaces: []*a2a.AgentInterface{
			newInterface(at, a2a.TransportProtocolJSONRPC, version10), newInterface(at+"rest", a2a.TransportProtocolHTTPJSON, version10),
			newInterface(at, a2a.TransportProtocolJSONRPC, version03), newInterface(at+"rest", a2a.TransportProtocolHTTPJSON, version03),
		},
		Capabilities:         a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: listExtensions(s.Catalogs(ctx, a.Tenant))},
		DefaultInputModes:    []string{mediaText, mediaJSON},
		DefaultOutputModes:   []string{mediaText, mediaJSON, a2ui.MIMEType},
		SecuritySchemes:      a2a.NamedSecuritySchemes{keyScheme: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A key with the scope tools:call"}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{keyScheme: {}}},
		Skills: []a2a.AgentSkill{{
			ID: "talk", Name: "Talk to " + name, Description: "Answers messages, and uses its tools for that.", Tags: []string{string(a.Role)},
		}},
	}
}

// encodeCurrentCard returns a card of version 1.0. It writes the security
// requirements as the protocol specifies them, because the library encodes them
// differently.
func (s *Server) encodeCurrentCard(ctx context.Context, a *junctor.Agent, address string) ([]byte, error) {
	return json.Marshal(struct {
		*a2a.AgentCard
		SecurityRequirements any `json:"securityRequirements"`
	}{s.newCard(ctx, a, address), []any{map[string]any{"schemes": map[string]any{keyScheme: map[string]any{"list": []any{}}}}}})
}

// encodeCompatibleCard returns a card for clients of both versions: it has the
// members of 0.3 beside those of 1.0.
func (s *Server) encodeCompatibleCard(ctx context.Context, a *junctor.Agent, address string) ([]byte, error) {
	text, err := json.Marshal(s.newCard(ctx, a, address))
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	at := s.agentURL(address)
	// The versions use different names for these members, so they do not collide.
	// Only the security scheme has the same name, with other members.
	maps.Copy(all, map[string]any{
		"protocolVersion": "0.3.0", "url": at, "preferredTransport": string(a2a.TransportProtocolJSONRPC),
		"additionalInterfaces": []any{
			map[string]any{"url": at, "transport": string(a2a.TransportProtocolJSONRPC)}, map[string]any{"url": at + "rest", "transport": string(a2a.TransportProtocolHTTPJSON)},
		},
		"security":                          []any{map[string]any{keyScheme: []any{}}},
		"supportsAuthenticatedExtendedCard": true,
	})
	if schemes, ok := all["securitySchemes"].(map[string]any); ok {
		if one, ok := schemes[keyScheme].(map[string]any); ok {
			one["type"], one["scheme"] = "http", "Bearer"
		}
	}
	return json.Marshal(all)
}

// GetExtendedAgentCard implements a2asrv.RequestHandler. An authenticated caller
// also sees the agent's tools, as skills.
func (d *requestHandler) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	c, err := callerFrom(ctx)
	if err != nil {
		return nil, err
	}
	card := d.newCard(ctx, &c.agent, c.address)
	card.SecurityRequirements = nil // the caller is authenticated; see encodeCurrentCard for the form
	tools, err := d.Tools(ctx, &c.agent)
	if err != nil {
		return nil, toProtocolError(err)
	}
	// Sorted, so that a client can compare two cards.
	slices.SortFunc(tools, func(a, b junctor.Tool) int { return cmp.Compare(a.Exposed, b.Exposed) })
	for _, t := range tools {
		card.Skills = append(card.Skills, a2a.AgentSkill{
			ID: t.Exposed, Name: cmp.Or(t.Title, t.Name), Description: cmp.Or(t.Description, t.Name), Tags: []string{t.Server},
		})
	}
	return card, nil
}
