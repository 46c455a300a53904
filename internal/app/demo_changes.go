package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agents"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// recordDemo records an object that the demonstration adds at its first start. add returns the
// object's ID.
func (a *App) recordDemo(ctx context.Context, p *junctor.Principal, object string, add func(context.Context) (id string, err error)) error {
	ctx = admin.WithChangeOrigin(ctx, admin.ChangeOrigin(p, junctor.ChangeByStart))
	c := admin.NewChange(ctx, "create-"+object, object, "")
	show := func(ctx context.Context) (any, error) {
		switch {
		case c.ObjectID == "":
			return nil, nil // not added yet
		case object == "room":
			d, err := a.rooms.Get(ctx, p, c.ObjectID)
			return d.Room, err
		}
		return a.showDeclared(ctx, p, object, c.ObjectID)
	}
	return admin.RecordChange(ctx, a.changes, c, show, func(ctx context.Context) (err error) {
		c.ObjectID, err = add(ctx)
		return err
	})
}

// recordedDemoServers records the servers that the demonstration adds.
type recordedDemoServers struct {
	*servers.Registry
	app *App
}

// AddServer implements declare.DemoServers.
func (r recordedDemoServers) AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (added junctor.Server, err error) {
	err = r.app.recordDemo(ctx, p, "server", func(ctx context.Context) (string, error) {
		added, err = r.Registry.AddServer(ctx, p, in)
		return added.ID, err
	})
	return added, err
}

// recordedDemoAgents records the agents that the demonstration adds.
type recordedDemoAgents struct {
	*agents.Registry
	app *App
}

// AddAgent implements declare.DemoAgents.
func (r recordedDemoAgents) AddAgent(ctx context.Context, p *junctor.Principal, name string, body admin.AgentBody) (added junctor.Agent, key junctor.Key, token string, err error) {
	err = r.app.recordDemo(ctx, p, "agent", func(ctx context.Context) (string, error) {
		added, key, token, err = r.Registry.AddAgent(ctx, p, name, body)
		return added.Name, err
	})
	return added, key, token, err
}

// recordedDemoRooms records the room that the demonstration adds.
type recordedDemoRooms struct {
	*room.Rooms
	app *App
}

// Create implements declare.DemoRooms.
func (r recordedDemoRooms) Create(ctx context.Context, p *junctor.Principal, s room.Settings) (added junctor.Room, err error) {
	err = r.app.recordDemo(ctx, p, "room", func(ctx context.Context) (string, error) {
		added, err = r.Rooms.Create(ctx, p, s)
		return added.ID, err
	})
	return added, err
}
