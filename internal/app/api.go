package app

import (
	"context"
	"io"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// OneAPI is the id of the server that AddAPI makes.
const OneAPI = "api"

// WithoutServers leaves out the built-in servers.
func WithoutServers() Option { return func(o *options) { o.bare = true } }

// AddAPI makes a server from a document, as the operator who started the
// process, and returns what the document yielded.
func (a *App) AddAPI(ctx context.Context, in admin.ServerInput) (junctor.APIPreview, error) {
	in.Server.ID, in.Server.Mode = OneAPI, junctor.ModeGenerated
	p := a.identity.OperatorPrincipal()
	if _, err := a.servers.AddServer(ctx, p, in); err != nil {
		return junctor.APIPreview{}, err
	}
	return a.servers.ValidateServer(ctx, p, OneAPI)
}

// ServeAPI serves that server alone over a pair of streams.
func (a *App) ServeAPI(ctx context.Context, in io.Reader, out io.Writer) error {
	return a.gateway.ServeStdio(ctx, OneAPI, func() (*junctor.Principal, error) { return a.identity.OperatorPrincipal(), nil }, in, out)
}
