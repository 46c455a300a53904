package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
)

// ProveFunc makes the peer of a new connection prove which replica it is, and returns
// the connection on which requests are sent. Without a proof it closes conn and fails.
type ProveFunc func(ctx context.Context, conn net.Conn) (net.Conn, error)

// ReplicaClient sends requests to another replica. Only NewReplicaClient makes one, so
// each connection was proved before a request is sent on it. Connections are reused,
// so that one proof serves many requests.
type ReplicaClient struct{ client *http.Client }

// NewReplicaClient makes a client for the replica at base, under the rules of Remote. A
// connection without proof is CodeUnreachable: nothing was sent. Requests are HTTP/1.1,
// one at a time on each connection.
func NewReplicaClient(base *url.URL, prove ProveFunc) (*ReplicaClient, error) {
	d, err := newOriginDialer(base)
	if err != nil {
		return nil, err
	}
	if prove == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "egress: a client for a replica requires prove")
	}
	return newReplicaClient(base, d, prove), nil
}

func newReplicaClient(base *url.URL, d *net.Dialer, prove ProveFunc) *ReplicaClient {
	proved := func(dial dialFunc) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, classifyDialError(ctx, base.Host, err)
			}
			if conn, err = prove(ctx, conn); err != nil {
				return nil, newError(junctor.CodeUnreachable, base.Host+" did not prove that it is a replica: another program listens there, or the replica has another sealing key or another version", err)
			}
			return conn, nil
		}
	}
	t := newBaseTransport(proved(d.DialContext))
	t.ForceAttemptHTTP2 = false
	t.DialTLSContext = proved((&tls.Dialer{NetDialer: d, Config: &tls.Config{NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}).DialContext)
	return &ReplicaClient{&http.Client{Transport: &originTransport{transport: t, origin: base}, CheckRedirect: keepRedirect}}
}

// classifyDialError gives the error of a dial its code. A TLS handshake that takes too
// long or is cut off is CodeUnreachable too, unlike such an end of a request: nothing was
// sent, so the caller may try another replica.
func classifyDialError(ctx context.Context, host string, err error) error {
	classified := classifyError(ctx, host, err)
	if code := junctor.CodeOf(classified); ctx.Err() == nil && (code == junctor.CodeTimeout || code == junctor.CodeUpstream) {
		return newError(junctor.CodeUnreachable, "cannot connect to "+host, err)
	}
	return classified
}

// Do sends a request, as http.Client.Do does. The caller closes the response's body.
func (c *ReplicaClient) Do(r *http.Request) (*http.Response, error) { return c.client.Do(r) }

// RoundTrip implements http.RoundTripper.
func (c *ReplicaClient) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.client.Transport.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (c *ReplicaClient) CloseIdleConnections() { c.client.CloseIdleConnections() }
