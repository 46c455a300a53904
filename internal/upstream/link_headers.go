package upstream

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/junctor-mcp/junctor/internal/egress"
)

// Login is what the calls of a caller carry who is logged in at a server.
type Login struct {
	Header http.Header
	// Name tells logins apart; "" is that there is none. What it names may get
	// another token, and links go on with that.
	Name string
	// Number grows with each token of a login.
	Number uint64
}

// linkHeaders is the headers that every request of a link has. They change when the
// token among them is renewed.
type linkHeaders struct {
	line    *egress.Line // nil where only an HTTP client leads to the server
	current atomic.Pointer[headerSnapshot]

	mu          sync.Mutex
	tokenNumber uint64 // of the token
}

// headerSnapshot is the headers of one moment, which are never changed.
type headerSnapshot struct {
	header   http.Header
	lineHead func() (*egress.Head, error) // as the line sends them
}

// currentHeader is what a request carries now.
func (c *linkHeaders) currentHeader() http.Header { return c.current.Load().header }

func (c *linkHeaders) setHeader(h http.Header) {
	c.current.Store(&headerSnapshot{h, sync.OnceValues(func() (*egress.Head, error) { return c.line.Head(h) })})
}

// renewLogin puts the credentials of a newer token in the place of those that there
// are. One that comes late changes nothing.
func (c *linkHeaders) renewLogin(l *Login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Number <= c.tokenNumber {
		return
	}
	c.tokenNumber = l.Number
	h := maps.Clone(c.currentHeader())
	maps.Copy(h, http.Header{"Authorization": l.Header["Authorization"]})
	c.setHeader(h)
}
