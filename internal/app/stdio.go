package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// upgradeStdio is the protocol that the socket is switched to for stdio: bytes
// both ways, one message a line.
const upgradeStdio = "mcp-stdio"

// ServeStdio serves one client over a pair of streams, in this process. Without
// a key the client is the operator, who started the process. Meanwhile the
// operator's socket is open, so that the process of a second client finds this
// one instead of an occupied data directory.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, key string) error {
	who := func() (*junctor.Principal, error) { return a.identity.Local(), nil }
	if key != "" {
		who = func() (*junctor.Principal, error) { return a.identity.Token(key) }
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

// relay serves a client whose process has connected itself through the socket.
func (a *App) relay(w http.ResponseWriter, r *http.Request) {
	if r.Context().Value(localKey{}) == nil || !a.cfg.DoorOn("stdio") || r.Header.Get("Upgrade") != upgradeStdio {
		http.NotFound(w, r)
		return
	}
	who := func() (*junctor.Principal, error) { return a.authenticate(r) }
	if _, err := who(); err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusUnauthorized)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be switched", http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	httpfast.SwitchProtocol(conn)
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+upgradeStdio+"\r\n\r\n"); err != nil {
		return
	}
	_ = a.gateway.ServeStdio(context.WithoutCancel(r.Context()), "", who, buf, conn)
}

// RelayStdio joins a pair of streams to the instance behind a socket. It answers
// unreachable when none runs there.
func RelayStdio(ctx context.Context, socket string, in io.Reader, out io.Writer, key string) error {
	conn, err := egress.DialUnix(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	head := "GET /stdio HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + upgradeStdio + "\r\n"
	if key != "" {
		head += "X-Api-Key: " + key + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnreachable, "the instance behind %s did not answer: %w", socket, err)
	}
	_ = resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusSwitchingProtocols:
	case http.StatusUnauthorized:
		return junctor.Errorf(junctor.CodeUnauthenticated, "the instance does not accept this key")
	default:
		return junctor.Errorf(junctor.CodeNotFound, "the instance has its stdio door switched off")
	}
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, r); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return junctor.Errorf(junctor.CodeUnreachable, "the connection to the instance broke: %w", err)
	}
	return nil
}
