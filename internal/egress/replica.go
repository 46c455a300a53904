package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
)

// ProveFunc has the other side of a new connection prove what it is, and gives the
// connection on which requests are sent then. It closes conn where there is no
// proof.
type ProveFunc func(ctx context.Context, conn net.Conn) (net.Conn, error)

// ReplicaClient sends requests to another replica. Only NewReplicaClient makes one,
// so each of its connections was proved before a request is sent on it. Connections
// are used again: a proof costs nothing while one is idle.
type ReplicaClient struct{ client *http.Client }

// NewReplicaClient makes a client for the replica at an address, with the rules of
// Remote. A connection that is not proved is CodeUnreachable: nothing was sent.
// Requests are HTTP/1.1, one at a time on each connection.
func NewReplicaClient(base *url.URL, prove ProveFunc) (*ReplicaClient, error) {
	d, err := dialerTo(base)
	if err != nil {
		return nil, err
	}
	if prove == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a client for a replica needs a proof")
	}
	proved := func(dial dialFunc) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, classify(ctx, base.Host, err)
			}
			if conn, err = prove(ctx, conn); err != nil {
				return nil, fail(junctor.CodeUnreachable, base.Host+" did not prove to be the replica: something else listens there, or it has another sealing key, or is of another version", err)
			}
			return conn, nil
		}
	}
	t := newTransport(proved(d.DialContext))
	t.ForceAttemptHTTP2 = false
	t.DialTLSContext = proved((&tls.Dialer{NetDialer: d, Config: &tls.Config{NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}).DialContext)
	return &ReplicaClient{&http.Client{Transport: &named{transport: t, origin: base}, CheckRedirect: noRedirect}}, nil
}

// Do sends a request, as http.Client does.
func (c *ReplicaClient) Do(r *http.Request) (*http.Response, error) { return c.client.Do(r) }

// RoundTrip implements http.RoundTripper.
func (c *ReplicaClient) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.client.Transport.RoundTrip(r)
}

// CloseIdleConnections lets connections go that are not in use.
func (c *ReplicaClient) CloseIdleConnections() { c.client.CloseIdleConnections() }
