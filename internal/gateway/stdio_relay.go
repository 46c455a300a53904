package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// upgradeStdio is the protocol that the operator's socket switches to for stdio: bytes in
// both directions, one message per line.
const upgradeStdio = "mcp-stdio"

// RelayPath is where a process asks for stdio through the operator's socket.
const RelayPath = "/stdio"

// ServeRelay serves a client whose process has connected itself with RelayStdio. The caller
// makes sure that the request came through the operator's socket. authenticate returns the
// principal; it is called again for every message.
func (g *Gateway) ServeRelay(w http.ResponseWriter, r *http.Request, authenticate func(*http.Request) (*junctor.Principal, error)) {
	if !g.options.EntryPoints.Stdio || r.Header.Get("Upgrade") != upgradeStdio {
		http.NotFound(w, r)
		return
	}
	who := func() (*junctor.Principal, error) { return authenticate(r) }
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
	_ = g.ServeStdio(context.WithoutCancel(r.Context()), "", who, buf, conn)
}

// RelayStdio joins a pair of streams to the instance behind a socket. The error is
// unreachable if none runs there.
func RelayStdio(ctx context.Context, socket string, in io.Reader, out io.Writer, key string) error {
	conn, err := egress.DialUnix(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	head := "GET " + RelayPath + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + upgradeStdio + "\r\n"
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
		return junctor.Errorf(junctor.CodeNotFound, "the stdio endpoint of the instance is disabled")
	}
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(out, r); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return junctor.Errorf(junctor.CodeUnreachable, "the connection to the instance was lost: %w", err)
	}
	return nil
}
