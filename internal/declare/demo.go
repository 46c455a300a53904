package declare

import (
	"context"
	"embed"
	"log/slog"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/pack"
	"github.com/junctor-mcp/junctor/internal/room"
)

//go:embed demo/*.yaml
var demoRules embed.FS

// bankPack is the pack that the demonstration adds.
const bankPack = "bank"

// Demo makes a room with three agents that answer by rules, so that there is somebody to
// talk to without a model or a network. All fields but MapURL are required.
type Demo struct {
	Servers DemoServers
	Agents  DemoAgents
	Rooms   DemoRooms
	// MapURL is the address of the bank's map server. If it is empty or cannot be
	// reached, the bank gets a stand-in that knows some places.
	MapURL string
	Log    *slog.Logger
}

// DemoServers adds servers.
type DemoServers interface {
	AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error)
}

// DemoAgents lists and adds agents.
type DemoAgents interface {
	Agents(ctx context.Context, p *junctor.Principal) ([]junctor.Agent, error)
	AddAgent(ctx context.Context, p *junctor.Principal, name string, body admin.AgentBody) (junctor.Agent, junctor.Key, string, error)
}

// DemoRooms lists and creates rooms.
type DemoRooms interface {
	List(ctx context.Context, p *junctor.Principal) ([]junctor.Room, error)
	Create(ctx context.Context, p *junctor.Principal, s room.Settings) (junctor.Room, error)
}

// Furnish adds the room and its agents as the principal. It adds nothing if there are
// agents or rooms already: what somebody removed stays away as long as anything is left.
func (d *Demo) Furnish(ctx context.Context, p *junctor.Principal) error {
	existing, err := d.Agents.Agents(ctx, p)
	if err != nil || len(existing) > 0 {
		return err
	}
	rooms, err := d.Rooms.List(ctx, p)
	if err != nil || len(rooms) > 0 {
		return err
	}
	members := []junctor.Member{}
	for _, one := range []struct{ name, title, tools string }{{"clerk", "Repeats, adds, waits", "demo/*"}, {"guide", "Shows the dashboard", "dashboard/*"}} {
		rules, err := demoRules.ReadFile("demo/" + one.name + ".yaml")
		if err != nil {
			return err
		}
		body := admin.AgentBody{
			Title: &one.title, Tools: &[]string{one.tools},
			Brain: admin.BrainChange{Given: true, Brain: &junctor.Brain{Rules: string(rules)}},
		}
		if _, _, _, err := d.Agents.AddAgent(ctx, p, one.name, body); err != nil {
			return err
		}
		members = append(members, junctor.Member{Agent: one.name})
	}
	bank, err := d.addBank(ctx, p)
	if err != nil {
		return err
	}
	members = append(members, junctor.Member{Agent: bank})
	_, err = d.Rooms.Create(ctx, p, room.Settings{Name: new("Lobby"), Members: &members})
	return err
}

// addBank adds the servers and the agent of the pack bank, and returns the agent's name.
func (d *Demo) addBank(ctx context.Context, p *junctor.Principal) (agent string, err error) {
	all, err := pack.Gallery()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(one *pack.Pack) bool { return one.ID == bankPack })
	if i < 0 {
		return "", junctor.Errorf(junctor.CodeInternal, "unknown pack %q", bankPack)
	}
	q, answer := &all[i].Questions[0], d.MapURL
	if answer == "" {
		answer = q.Example // the stand-in takes its place
	}
	filled, err := all[i].Fill(map[string]string{q.Name: answer}, nil)
	if err != nil {
		return "", err
	}
	for _, s := range filled.Servers {
		if s.ID == "map" {
			err = d.addMap(ctx, p, admin.DeclaredInput(s))
		} else {
			_, err = d.Servers.AddServer(ctx, p, admin.DeclaredInput(s))
		}
		if err != nil {
			return "", err
		}
	}
	for i := range filled.Agents {
		if err := d.addPacked(ctx, p, &filled.Agents[i]); err != nil {
			return "", err
		}
	}
	return filled.Agents[0].Name, nil
}

// addMap adds the map server of the bank, or its stand-in.
func (d *Demo) addMap(ctx context.Context, p *junctor.Principal, in admin.ServerInput) error {
	if d.MapURL != "" {
		_, err := d.Servers.AddServer(ctx, p, in)
		if err == nil {
			return nil
		}
		d.Log.Warn("cannot reach the map server of MAP_SERVER_URL: the bank uses a built-in substitute with a few places", "error", junctor.AsError(err).Message)
	}
	_, err := d.Servers.AddServer(ctx, p, admin.ServerInput{Server: junctor.Server{
		ID: "map", Mode: junctor.ModeBYO, Title: "Map (offline stand-in with a few places)", State: junctor.StateActive,
		Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"junctor", "bank", "places"}, BelieveAnnotations: true},
	}})
	return err
}

// addPacked adds an agent of a pack.
func (d *Demo) addPacked(ctx context.Context, p *junctor.Principal, one *config.Agent) error {
	tools := make([]string, len(one.Tools))
	for i, g := range one.Tools {
		tools[i] = g.String()
	}
	body := admin.AgentBody{Title: &one.Title, Role: &one.Role, Tools: &tools, Published: &one.Published, Brain: admin.BrainChange{Given: true, Brain: one.Brain}}
	_, _, _, err := d.Agents.AddAgent(ctx, p, one.Name, body)
	return err
}
