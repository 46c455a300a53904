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

// cardAge is how long a card may be used again, in seconds.
const cardAge = 60

// firstCard is the card of the agent that those meet who know no name.
func (s *Server) firstCard(w http.ResponseWriter, r *http.Request) {
	a, err := s.Store.FirstPublished(r.Context())
	s.showCard(w, r, a, a.Name, err)
}

// namedCard is the card of one agent. It is for everybody: it says which key to
// bring.
func (s *Server) namedCard(w http.ResponseWriter, r *http.Request) {
	address := r.PathValue("agent")
	a, err := s.Store.PublishedAgent(r.Context(), address)
	s.showCard(w, r, a, address, err)
}

func (s *Server) showCard(w http.ResponseWriter, r *http.Request, a junctor.Agent, address string, err error) {
	var text []byte
	if err == nil {
		// Who says today's version gets its card and nothing beside it; others may
		// be of the former one, whose clients say nothing.
		if version, verr := versionOf(r); verr == nil && version == v10 {
			text, err = s.todaysText(r.Context(), &a, address)
		} else {
			text, err = s.cardText(r.Context(), &a, address)
		}
	}
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		refuseREST(w, http.StatusNotFound, problem(a2a.ErrMethodNotFound, "no agent is published here under that name"))
		return
	case err != nil:
		s.Log.Error("a2a: a card cannot be shown", "error", err, "cause", junctor.AsError(err).Cause)
		refuseREST(w, 0, protocolError(err))
		return
	}
	sum := sha256.Sum256(text)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", cardAge))
	h.Set("Vary", a2a.SvcParamVersion)
	h.Set("Last-Modified", a.UpdatedAt.UTC().Format(http.TimeFormat))
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text) //nolint:gosec // JSON of our own, as JSON; the client may have gone
}

// keyScheme is the name of the one way in.
const keyScheme = "key"

// door is where an agent is met that was found by an address.
func (s *Server) door(address string) string {
	return strings.TrimSuffix(s.URL(), "/") + "/a2a/" + address + "/"
}

// card is what an agent says of itself, to who found it by an address.
func (s *Server) card(ctx context.Context, a *junctor.Agent, address string) *a2a.AgentCard {
	at := s.door(address)
	face := func(url string, by a2a.TransportProtocol, version string) *a2a.AgentInterface {
		return &a2a.AgentInterface{URL: url, ProtocolBinding: by, ProtocolVersion: a2a.ProtocolVersion(version)}
	}
	name := cmp.Or(a.Title, a.Name)
	return &a2a.AgentCard{
		Name: name, Description: fmt.Sprintf("%s, an agent for %s.", name, a.Role), Version: a.UpdatedAt.UTC().Format("2006.1.2-150405"),
		SupportedInterfaces: []*a2a.AgentInterface{
			face(at, a2a.TransportProtocolJSONRPC, v10), face(at+"rest", a2a.TransportProtocolHTTPJSON, v10),
			face(at, a2a.TransportProtocolJSONRPC, v03), face(at+"rest", a2a.TransportProtocolHTTPJSON, v03),
		},
		Capabilities:         a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: extensions(s.Catalogs(ctx, a.Tenant))},
		DefaultInputModes:    []string{mediaText, mediaJSON},
		DefaultOutputModes:   []string{mediaText, mediaJSON, a2ui.MimeType},
		SecuritySchemes:      a2a.NamedSecuritySchemes{keyScheme: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A key with the scope tools:call"}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{keyScheme: {}}},
		Skills: []a2a.AgentSkill{{
			ID: "talk", Name: "Talk to " + name, Description: "Answers messages, and uses its tools for that.", Tags: []string{string(a.Role)},
		}},
	}
}

// todaysText is a card as today's version has it. What is to be brought is written
// as the protocol wants it, which the library, on either side, does not know.
func (s *Server) todaysText(ctx context.Context, a *junctor.Agent, address string) ([]byte, error) {
	return json.Marshal(struct {
		*a2a.AgentCard
		SecurityRequirements any `json:"securityRequirements"`
	}{s.card(ctx, a, address), []any{map[string]any{"schemes": map[string]any{keyScheme: map[string]any{"list": []any{}}}}}})
}

// cardText is a card as both versions read it: members of the former one stand
// beside those of today's.
func (s *Server) cardText(ctx context.Context, a *junctor.Agent, address string) ([]byte, error) {
	text, err := json.Marshal(s.card(ctx, a, address))
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	at := s.door(address)
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

// GetExtendedAgentCard implements a2asrv.RequestHandler: who has a key sees what
// the agent can call.
func (d *desk) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	card := d.card(ctx, &c.agent, c.address)
	card.SecurityRequirements = nil // they brought it; and see todaysText
	tools, err := d.Tools(ctx, &c.agent)
	if err != nil {
		return nil, protocolError(err)
	}
	slices.SortFunc(tools, func(a, b junctor.Tool) int { return cmp.Compare(a.Exposed, b.Exposed) })
	for _, t := range tools {
		card.Skills = append(card.Skills, a2a.AgentSkill{
			ID: t.Exposed, Name: cmp.Or(t.Title, t.Name), Description: cmp.Or(t.Description, t.Name), Tags: []string{t.Server},
		})
	}
	return card, nil
}
