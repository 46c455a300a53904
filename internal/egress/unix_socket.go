package egress

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Local makes a client for the instance behind a unix socket. It dials the
// socket for every URL, regardless of its host. The context bounds each
// exchange.
func Local(socket string) *http.Client {
	t := newBaseTransport(func(ctx context.Context, _, _ string) (net.Conn, error) { return DialUnix(ctx, socket) })
	return &http.Client{Transport: &originTransport{transport: t}, CheckRedirect: keepRedirect}
}

// DialUnix connects to a unix socket. It fails with CodeUnreachable if no
// process listens there.
func DialUnix(ctx context.Context, socket string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	var conn net.Conn
	err := withSocketName(socket, func(name string) (err error) {
		conn, err = d.DialContext(ctx, "unix", name)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		return nil, newError(junctor.CodeUnreachable, "cannot connect to an instance at "+socket+": start one with `junctor up`", err)
	}
	return conn, nil
}

// ListenUnix listens on a unix socket that only this user may connect to. Closing the
// listener removes the file.
func ListenUnix(ctx context.Context, socket string) (net.Listener, error) {
	l := &socketListener{path: socket}
	err := withSocketName(socket, func(name string) (err error) {
		l.Listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if u, ok := l.Listener.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // its name may be that of withSocketName, which is not valid any more
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// socketListener is a listener that removes its file when it is closed.
type socketListener struct {
	net.Listener
	path       string
	removeOnce sync.Once // a second Close must not remove the file of the next listener
}

// Close implements net.Listener.
func (l *socketListener) Close() error {
	l.removeOnce.Do(func() { _ = os.Remove(l.path) }) // before Close, as net does: a client that finds the file can connect
	return l.Listener.Close()
}

// CheckListening connects to the TCP address that an instance on this machine was told to
// listen on, and closes the connection. An address without a host, or with that of all
// interfaces, is reached on loopback.
func CheckListening(ctx context.Context, address string) error {
	if host, port, err := net.SplitHostPort(address); err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		address = net.JoinHostPort("localhost", port)
	}
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return newError(junctor.CodeUnreachable, "no program listens on "+address, err)
	}
	_ = conn.Close() // nothing was sent
	return nil
}
