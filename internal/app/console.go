package app

import (
	"context"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/console"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// openConsole joins the pages that people look at.
func (a *App) openConsole() error {
	o := console.Options{Plain: http.HandlerFunc(a.welcome), Frames: func(origin string) []string { return a.sandbox().FrameSources(origin) }}
	o.Tiles = a.cfg.MapTiles
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

// firstUser is who signs in before anybody was added.
const firstUser = "admin"

// FirstSignIn gives an address that signs the first person in, once; "" where
// others have been added, who know how to come in. Listen comes before it.
func (a *App) FirstSignIn(ctx context.Context) (string, error) {
	if !a.cfg.DoorOn("admin") {
		return "", nil
	}
	people := directory{a.identity, a}
	users, err := people.ListUsers(ctx, junctor.DefaultTenant)
	if err != nil {
		return "", err
	}
	if len(users) == 0 {
		u, err := people.CreateUser(ctx, junctor.DefaultTenant, identity.NewUser{Name: firstUser, Role: junctor.UserAdmin})
		if err != nil {
			return "", err
		}
		users = append(users, u)
	}
	if len(users) > 1 || users[0].Name != firstUser {
		return "", nil
	}
	link, _, err := people.CreateLink(ctx, junctor.DefaultTenant, users[0].ID)
	if err != nil {
		return "", err
	}
	return link + "&" + url.Values{"next": {"/start"}}.Encode(), nil // where the first steps are
}
