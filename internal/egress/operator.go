package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"syscall"

	junctor "github.com/junctor-mcp/junctor"
)

// Local makes a client for the instance behind a unix socket: whatever host a
// URL has, the socket is dialled. The context bounds each exchange.
func Local(socket string) *http.Client {
	t := newTransport(func(ctx context.Context, _, _ string) (net.Conn, error) { return DialUnix(ctx, socket) })
	return &http.Client{Transport: &named{transport: t}, CheckRedirect: noRedirect}
}

// DialUnix connects to a unix socket. It answers CodeUnreachable when nobody
// listens there.
func DialUnix(ctx context.Context, socket string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	var conn net.Conn
	err := withSocketName(socket, func(name string) (err error) {
		conn, err = d.DialContext(ctx, "unix", name)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		return nil, fail(junctor.CodeUnreachable, "no instance answers at "+socket+": start one with `junctor up`", err)
	}
	return conn, nil
}

// ListenUnix listens on a unix socket that only this user may connect to. Its file
// goes when the listener is closed.
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
		u.SetUnlinkOnClose(false) // the name that it knows may lead elsewhere by then
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// socketListener removes its file when it is closed.
type socketListener struct {
	net.Listener
	path   string
	remove sync.Once // a second Close must not take the file of the next listener
}

// Close implements net.Listener.
func (l *socketListener) Close() error {
	l.remove.Do(func() { _ = os.Remove(l.path) }) // first, as net does: who finds it can connect
	return l.Listener.Close()
}

// Remote makes a client for one origin that the operator named: another
// machine's instance, or a trace collector. Its address may be private, since
// no stranger chose it, and it goes nowhere else. Plain http is for loopback and
// private addresses, because keys are sent. The context bounds each exchange.
func Remote(base *url.URL) (*http.Client, error) {
	d, err := dialerTo(base)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &named{transport: newTransport(d.DialContext), origin: base}, CheckRedirect: noRedirect}, nil
}

// dialerTo makes what dials an origin that the operator named.
func dialerTo(base *url.URL) (*net.Dialer, error) {
	if base == nil || (base.Scheme != "https" && base.Scheme != "http") || base.Hostname() == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address must be an http or https URL with a host")
	}
	if base.User != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address must not hold a user or password")
	}
	d := &net.Dialer{Timeout: dialTimeout}
	if base.Scheme == "http" {
		d.Control = controlPrivate
	}
	return d, nil
}

func controlPrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if ip := ap.Addr().Unmap(); err != nil || (!ip.IsLoopback() && !ip.IsPrivate()) {
		return junctor.Errorf(junctor.CodeDenied, "plain http would show the key to everybody on the way: use https")
	}
	return nil
}

// named is the transport to a place that the operator named.
type named struct {
	transport *http.Transport
	origin    *url.URL // the only one to go to; nil is any, where the dial leads to one place anyway
}

// RoundTrip implements http.RoundTripper.
func (n *named) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.origin != nil && !sameOrigin(r.URL, n.origin) {
		closeBody(r)
		return nil, junctor.Errorf(junctor.CodeDenied, "this client is for %s only", n.origin.Host)
	}
	resp, err := n.transport.RoundTrip(r)
	if err != nil {
		return nil, classify(r.Context(), r.URL.Host, err)
	}
	return resp, nil
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (n *named) CloseIdleConnections() { n.transport.CloseIdleConnections() }

// noRedirect hands the redirect itself to the caller, as any other answer.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// DialNamed connects to a service that the operator named, such as a Redis: its
// address may be private, since no stranger chose it. secure is with TLS.
func DialNamed(ctx context.Context, address string, secure bool) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout}
	var conn net.Conn
	var err error
	if secure {
		conn, err = (&tls.Dialer{NetDialer: d}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		return nil, fail(junctor.CodeUnreachable, "nothing answers at "+address, err)
	}
	return conn, nil
}
