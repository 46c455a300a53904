package gateway

import (
	"net/http"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// openStreams counts the streams that stay open until somebody ends them, by
// party: each costs a connection and a goroutine, whether anything happens or
// not.
type openStreams struct {
	mu   sync.Mutex
	open map[party]int
}

type party struct {
	tenant          junctor.TenantID
	issuer, subject string
}

// holdStream counts one more stream of a principal and gives back what ends it;
// or, where there are too many already, answers 429 and gives nil.
func (g *Gateway) holdStream(w http.ResponseWriter, p *junctor.Principal, id []byte) (release func()) {
	key := party{p.Tenant, p.Issuer, p.Subject}
	s := &g.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] >= g.o.MaxStreams {
		g.refuse(w, http.StatusTooManyRequests, id, &wire.Error{Code: codeLimited, Message: "too many open streams with this key; close one first"})
		return nil
	}
	if s.open == nil {
		s.open = map[party]int{}
	}
	s.open[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[key]--; s.open[key] == 0 {
			delete(s.open, key)
		}
	}
}
