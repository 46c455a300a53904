package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	junctor "github.com/junctor-mcp/junctor"
)

// Remote makes a client for one origin that the operator named, such as the instance on
// another machine or a trace collector. Its address may be private, since no stranger
// chose it. The client refuses every other origin. Plain http is for loopback and
// private addresses only, because keys are sent. The context bounds each exchange.
func Remote(base *url.URL) (*http.Client, error) {
	d, err := newOriginDialer(base)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &originTransport{transport: newBaseTransport(d.DialContext), origin: base}, CheckRedirect: keepRedirect}, nil
}

// newOriginDialer makes the dialer for an origin that the operator named.
func newOriginDialer(base *url.URL) (*net.Dialer, error) {
	if base == nil || (base.Scheme != "https" && base.Scheme != "http") || base.Hostname() == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address must be an http or https URL with a host")
	}
	if base.User != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address must not hold a user or password")
	}
	d := &net.Dialer{Timeout: dialTimeout}
	if base.Scheme == "http" {
		d.Control = checkPrivateDial
	}
	return d, nil
}

// checkPrivateDial refuses plain http to public addresses.
func checkPrivateDial(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if ip := ap.Addr().Unmap(); err != nil || (!ip.IsLoopback() && !ip.IsPrivate()) {
		return junctor.Errorf(junctor.CodeDenied, "plain http would send the key unencrypted: use https")
	}
	return nil
}

// originTransport is the transport to a destination that the operator named.
type originTransport struct {
	transport *http.Transport
	origin    *url.URL // the only one allowed; nil: any, because every dial leads to the same socket
}

// RoundTrip implements http.RoundTripper.
func (n *originTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.origin != nil && !isSameOrigin(r.URL, n.origin) {
		closeRequestBody(r)
		return nil, junctor.Errorf(junctor.CodeDenied, "this client only connects to %s", n.origin.Host)
	}
	resp, err := n.transport.RoundTrip(r)
	if err != nil {
		return nil, classifyError(r.Context(), r.URL.Host, err)
	}
	return resp, nil
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (n *originTransport) CloseIdleConnections() { n.transport.CloseIdleConnections() }

// keepRedirect makes an http.Client return a redirect as it is, without following it.
func keepRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// DialNamed connects to a service that the operator named, such as a Redis server. Its
// address may be private, since no stranger chose it. With secure it uses TLS.
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
			return nil, contextError(ctx)
		}
		return nil, newError(junctor.CodeUnreachable, "cannot connect to "+address, err)
	}
	return conn, nil
}
