package junctor

import (
	"context"
	"net/netip"
)

// clientAddressKey is the context key of the address of a client.
type clientAddressKey struct{}

// WithClientAddress returns a context of work that a client has begun from an address. Work
// that outlives its request keeps the address by it. An invalid address, of a client that
// came over no network, leaves ctx as it is.
func WithClientAddress(ctx context.Context, address netip.Addr) context.Context {
	if !address.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, clientAddressKey{}, address)
}

// ClientAddress returns the address of the client that has begun the work of a context;
// invalid if it is not known.
func ClientAddress(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(clientAddressKey{}).(netip.Addr)
	return address
}
