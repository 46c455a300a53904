package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// ServeStdio serves one client over a pair of streams, in this process. Without
// a key the client is the operator, who started the process. Meanwhile the
// operator's socket is open, so that the process of a second client finds this
// one instead of an occupied data directory.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, key string) error {
	who := func() (*junctor.Principal, error) { return a.identity.OperatorPrincipal(), nil }
	if key != "" {
		who = func() (*junctor.Principal, error) { return a.identity.AuthenticateToken(key) }
		if _, err := who(); err != nil {
			return err
		}
	}
	if a.listening.Load() != nil { // Run has the socket
		return a.gateway.ServeStdio(ctx, "", who, in, out)
	}
	sock, err := a.listenSocket(ctx)
	if err != nil {
		return err
	}
	a.servers.FindHomes(ctx) // they are here: nobody else reaches this process
	routes, err := a.mux()
	if err != nil {
		return errors.Join(err, sock.Close())
	}
	local := a.localServer(routes)
	served := make(chan error, 1)
	go func() { served <- local.Serve(sock) }()
	err = a.gateway.ServeStdio(ctx, "", who, in, out)
	a.gateway.Close()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = local.Shutdown(stop)
	return errors.Join(err, notClosed(<-served))
}

// serveRelay serves a client whose process has connected itself through the socket.
func (a *App) serveRelay(w http.ResponseWriter, r *http.Request) {
	if !isLocal(r) {
		http.NotFound(w, r)
		return
	}
	a.gateway.ServeRelay(w, r, a.authenticate)
}
