package app

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/docs"
	"github.com/junctor-mcp/junctor/internal/console"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/egress"
)

// openConsole makes the handler of the console's pages.
func (a *App) openConsole() error {
	o := console.Options{Plain: http.HandlerFunc(a.welcome), Frames: func(origin string) []string { return a.sandbox().FrameSources(origin) }}
	o.Tiles, o.Docs = a.cfg.MapTiles, docs.Files()
	if dev := a.cfg.ConsoleDev; dev != nil {
		client, err := egress.Remote(dev) // the operator named it
		if err != nil {
			return err
		}
		o.Dev, o.Transport = dev, client.Transport
	}
	var err error
	a.console, err = console.New(o)
	return err
}

// HasTools reports whether the default tenant has a server with this id that is switched
// on and has tools.
func (a *App) HasTools(server string) bool {
	s, err := a.catalog.Snapshot().For(junctor.DefaultTenant).Server(a.identity.OperatorPrincipal(), server)
	return err == nil && len(s.Offer.Tools) > 0
}

// FurnishDemo makes the room of the demonstration. mapURL is the address of the bank's map
// server; "" gives the bank a stand-in.
func (a *App) FurnishDemo(ctx context.Context, mapURL string) error {
	operator := *a.identity.OperatorPrincipal()
	operator.Subject = "demo" // the console's first steps do not count its agents as a person's
	demo := declare.Demo{
		Servers: recordedDemoServers{a.servers, a}, Agents: recordedDemoAgents{a.agents, a}, Rooms: recordedDemoRooms{a.rooms, a}, MapURL: mapURL, Log: a.log,
	}
	return demo.Furnish(ctx, &operator)
}
