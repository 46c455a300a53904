package egress

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// FastClient gives a client of the HTTP fast path for POST requests to u, under the
// rules of a client that Egress.Client made: each dial judges the address again, and c
// itself follows redirects. ok is false if c has to be used instead: for https, for
// destinations behind the proxy, for a client with a timeout or a size limit, for
// destinations that c would refuse, and with Options.NoFastPath.
func FastClient(c *http.Client, u *url.URL) (fast *httpfast.Client, ok bool) {
	g, ours := c.Transport.(*guardedTransport)
	if !ours || g.fast == nil || c.Timeout != 0 || g.maxBytes >= 0 || u.Scheme != "http" {
		return nil, false
	}
	host := u.Hostname()
	if g.policy.checkURL(u, g.usesProxy) != nil || g.usesProxy && !g.policy.bypassesProxy(host) {
		return nil, false // c gives the error
	}
	return g.fast.NewClient(c, u, net.JoinHostPort(host, portOf(u)))
}

// newFastTransport makes the connections of the fast path for a guarded transport. It
// dials through open, the same dial function that the transport has for plain HTTP.
func newFastTransport(g *guardedTransport, open dialFunc) *httpfast.Transport {
	return httpfast.NewTransport(httpfast.TransportOptions{
		Dial: httpfast.DialFunc(open),
		Classify: func(ctx context.Context, host string, err error) error {
			return g.logRefusal(ctx, host, classifyError(ctx, host, err))
		},
	})
}
