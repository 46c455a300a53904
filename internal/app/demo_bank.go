package app

import (
	"context"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// bankPack is the pack that the demonstration adds.
const bankPack = "bank"

// furnishBank adds the pack bank: its server, its agent, and a map. That is the
// one at mapURL, or a stand-in that knows some places by heart and says so, where
// mapURL is empty or leads nowhere: the demonstration needs no network.
func (a *App) furnishBank(ctx context.Context, p *junctor.Principal, mapURL string) (agent string, err error) {
	all, err := pack.Gallery()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(one *pack.Pack) bool { return one.ID == bankPack })
	if i < 0 {
		return "", junctor.Errorf(junctor.CodeInternal, "there is no pack %q", bankPack)
	}
	q := &all[i].Questions[0]
	f, err := all[i].Fill(map[string]string{q.Name: mapOr(mapURL, q.Example)}, nil)
	if err != nil {
		return "", err
	}
	for _, s := range f.Servers {
		in := admin.DeclaredInput(s)
		if s.ID == "map" && mapURL == "" {
			in = placesInput()
		}
		_, err := a.servers.AddServer(ctx, p, in)
		if err != nil && s.ID == "map" && mapURL != "" {
			a.log.Warn("the map server of MAP_SERVER_URL cannot be reached: the bank has a stand-in, which knows some places by heart", "error", junctor.AsError(err).Message)
			_, err = a.servers.AddServer(ctx, p, placesInput())
		}
		if err != nil {
			return "", err
		}
	}
	for i := range f.Agents {
		if err := a.addPacked(ctx, p, &f.Agents[i]); err != nil {
			return "", err
		}
	}
	return f.Agents[0].Name, nil
}

// mapOr gives the address of the map, or one that stands for it until the
// stand-in takes its place.
func mapOr(address, example string) string {
	if address == "" {
		return example
	}
	return address
}

// placesInput describes the stand-in for a map server.
func placesInput() admin.ServerInput {
	return admin.ServerInput{Server: junctor.Server{
		ID: "map", Mode: junctor.ModeBYO, Title: "Map (offline stand-in: a few places by heart)", State: junctor.StateActive,
		Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"junctor", "bank", "places"}, BelieveAnnotations: true},
	}}
}

func (a *App) addPacked(ctx context.Context, p *junctor.Principal, one *config.Agent) error {
	tools := make([]string, len(one.Tools))
	for i, g := range one.Tools {
		tools[i] = g.String()
	}
	body := admin.AgentBody{Title: &one.Title, Role: &one.Role, Tools: &tools, Published: &one.Published, Brain: admin.BrainChange{Given: true, Brain: one.Brain}}
	_, _, _, err := agents{a}.AddAgent(ctx, p, one.Name, body)
	return err
}
