package upstream

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/junctor-mcp/junctor/internal/httpfast"
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

// carried is the headers that every request of a link has. They change when the
// token among them is renewed.
type carried struct {
	line *httpfast.Client // nil where only an HTTP client leads to the server
	now  atomic.Pointer[head]

	mu     sync.Mutex
	number uint64 // of the token
}

// head is the headers of one moment, which are never changed.
type head struct {
	header http.Header
	common func() (*httpfast.CommonHeader, error) // as the line sends them
}

// header is what a request carries now.
func (c *carried) header() http.Header { return c.now.Load().header }

func (c *carried) set(h http.Header) {
	c.now.Store(&head{h, sync.OnceValues(func() (*httpfast.CommonHeader, error) { return c.line.RenderHeader(h) })})
}

// renew puts the credentials of a newer token in the place of those that there
// are. One that comes late changes nothing.
func (c *carried) renew(l *Login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Number <= c.number {
		return
	}
	c.number = l.Number
	h := maps.Clone(c.header())
	maps.Copy(h, http.Header{"Authorization": l.Header["Authorization"]})
	c.set(h)
}
