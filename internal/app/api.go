package app

import (
	"context"
	"io"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// OneAPI is the id of the server that AddAPI makes.
const OneAPI = "api"

// WithoutServers leaves out the servers that the binary holds.
func WithoutServers() Option { return func(o *options) { o.bare = true } }

// AddAPI makes a server of a document for the operator who started the process,
// and says what it came to.
func (a *App) AddAPI(ctx context.Context, in admin.ServerInput) (junctor.APIPreview, error) {
	in.Server.ID, in.Server.Mode = OneAPI, junctor.ModeGenerated
	p := a.identity.Local()
	if _, err := a.servers.AddServer(ctx, p, in); err != nil {
		return junctor.APIPreview{}, err
	}
	return a.servers.ValidateServer(ctx, p, OneAPI)
}

// ServeAPI serves that server alone over a pair of streams.
func (a *App) ServeAPI(ctx context.Context, in io.Reader, out io.Writer) error {
	return a.gateway.ServeStdio(ctx, OneAPI, func() (*junctor.Principal, error) { return a.identity.Local(), nil }, in, out)
}
