package servers

import (
	"context"
	"errors"
	"testing"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// offering is a way to a server that offers something.
type offering struct {
	serverRoute
	offer *catalog.Offer
}

func (o offering) Offer(context.Context) (*catalog.Offer, error) { return o.offer, nil }
func (o offering) State() upstream.State                         { return upstream.State{Connected: true} }

// An offer counts as stored once it is: one that the database did not take is stored
// with the next look, and not only when the server changes again.
func TestOffersAreStoredUntilTheyAre(t *testing.T) {
	t.Parallel()
	var broken error
	stored := 0
	b := &attachedServer{keep: func(context.Context, []byte, string) error {
		if broken == nil {
			stored++
		}
		return broken
	}}
	c := &serverConnection{up: authenticatedRoute{serverRoute: offering{offer: &catalog.Offer{Instructions: "one"}}, with: &upstreamauth.ServerAuth{}}}
	broken = errors.New("the database does not answer")
	b.storeOffer(t.Context(), c)
	broken = nil
	b.storeOffer(t.Context(), c)
	if stored != 1 {
		t.Fatalf("stored %d times after the database answers again", stored)
	}
	b.storeOffer(t.Context(), c)
	if stored != 1 {
		t.Errorf("stored %d times although nothing changed", stored)
	}
}
