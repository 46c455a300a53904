package app

import (
	"context"
	"embed"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/room"
)

//go:embed demo/*.yaml
var demoRules embed.FS

// FurnishDemo makes a room with three agents that think by rules, so that there is
// somebody to talk to with no model and no network; one of them is the bank, whose
// map is the server at mapURL, or a stand-in where that is empty. Where there are
// agents or rooms already it makes nothing: what a person took away stays away as
// long as anything is left.
func (a *App) FurnishDemo(ctx context.Context, mapURL string) error {
	operator := *a.identity.Local()
	operator.Subject = "demo" // its agents are nobody's doing: the console's first steps do not count them
	p := &operator
	there, err := a.store.For(p.Tenant).Agents(ctx)
	if err != nil || len(there) > 0 {
		return err
	}
	rooms, err := a.rooms.Workspaces(ctx, p)
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
		if _, _, _, err := (agents{a}).AddAgent(ctx, p, one.name, body); err != nil {
			return err
		}
		members = append(members, junctor.Member{Agent: one.name})
	}
	bank, err := a.furnishBank(ctx, p, mapURL)
	if err != nil {
		return err
	}
	members = append(members, junctor.Member{Agent: bank})
	_, err = a.rooms.AddWorkspace(ctx, p, room.Change{Name: new("Lobby"), Members: &members})
	return err
}
