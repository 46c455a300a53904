package servers

import (
	"context"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

// DeliveryEndpoint describes the delivery endpoint of an agent: an MCP server that no row
// of the store names, and that no catalog shows.
type DeliveryEndpoint struct {
	ID        string // of the server that calls of the endpoint count as
	Tenant    junctor.TenantID
	URL       *url.URL
	Transport junctor.Transport
	Clients   Clients
	Header    http.Header              // sent with every request; it holds the token
	Scrub     func(text string) string // takes the token out of a text
}

// EndpointBackend is the backend of a delivery endpoint.
type EndpointBackend interface {
	catalog.Backend
	// Close ends the connection. It may wait for the other side.
	Close()
}

// ConnectEndpoint makes the backend of a delivery endpoint. It connects when it is first
// used. The caller closes it.
func (s *Registry) ConnectEndpoint(e DeliveryEndpoint) (EndpointBackend, error) {
	return upstream.New(upstream.Options{
		ID: e.ID, Transport: upstream.Transport(e.Transport), URL: e.URL, Client: e.Clients.Plain, StreamClient: e.Clients.Stream,
		Header:  func(context.Context, *junctor.Principal) (http.Header, error) { return e.Header, nil },
		Version: s.o.Version, Logger: s.o.Log, MaxBytes: s.o.MaxResult, ByteBudget: s.o.Bytes, Tenant: e.Tenant, Scrub: e.Scrub,
	})
}
