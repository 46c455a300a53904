package chains

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// openNode returns the connection to the nodes of a chain, which the operator named.
func (f *Follower) openNode(ctx context.Context, c junctor.Chain) (*erc8004.Node, error) {
	urls := make([]string, len(c.Nodes))
	clients := originClients{}
	for i, text := range c.Nodes {
		kind, _, _ := strings.Cut(text, ":")
		if kind == "env" || kind == "file" {
			secret, err := f.ReadSetting(ctx, text)
			if err != nil {
				return nil, junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", c.Name, err)
			}
			text = strings.TrimSpace(secret.Reveal())
		}
		if err := clients.addOrigin(text); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the chain %s: %w", c.Name, err)
		}
		urls[i] = text
	}
	f.clients = append(f.clients, clients)
	return erc8004.NewNode(clients, urls)
}

// openGateways returns a reader of IPFS files from the gateways of the settings.
func (f *Follower) openGateways() (*ipfs.Reader, error) {
	clients := originClients{}
	for _, g := range f.IPFSGateways {
		if err := clients.addOrigin(g); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "ipfs-gateways: %w", err)
		}
	}
	f.clients = append(f.clients, clients)
	return ipfs.New(clients, f.IPFSGateways)
}

// originClients are the HTTP clients of the origins that the operator named, by
// scheme and host. Each client reaches its own origin only.
type originClients map[string]*http.Client

// addOrigin makes the client of an address, unless its origin has one.
func (o originClients) addOrigin(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "an address is not a valid URL")
	}
	if o[u.Scheme+"://"+u.Host] != nil {
		return nil
	}
	client, err := egress.Remote(u)
	if err != nil {
		return err
	}
	o[u.Scheme+"://"+u.Host] = client
	return nil
}

// Do implements erc8004.Doer and ipfs.Doer.
func (o originClients) Do(r *http.Request) (*http.Response, error) {
	client := o[r.URL.Scheme+"://"+r.URL.Host]
	if client == nil {
		return nil, junctor.Errorf(junctor.CodeDenied, "%s is not an address from the settings", r.URL.Host)
	}
	return client.Do(r) //nolint:gosec // to an address of the settings alone
}

// close closes idle connections.
func (o originClients) close() {
	for _, c := range o {
		c.CloseIdleConnections()
	}
}
