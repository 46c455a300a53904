package upstream

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// Login is what the calls of a logged-in caller carry.
type Login struct {
	// Header holds the credentials, the token among them.
	Header http.Header
	// Name tells logins apart; "" means that there is none. A login may get a new token:
	// links that were opened with the old one then continue with the new one.
	Name string
	// Number grows with each token of a login, so that an older one never replaces a
	// newer one.
	TokenNumber uint64
}

// linkHeaders holds the headers that all requests of a link have. They change when the
// token among them is renewed.
type linkHeaders struct {
	line    *httpfast.Client // nil if only an HTTP client leads to the server
	current atomic.Pointer[headerSnapshot]

	mu          sync.Mutex
	tokenNumber uint64 // of the current token; mu guards it
}

// headerSnapshot is the headers at one moment. It never changes, so it can be read
// without a lock.
type headerSnapshot struct {
	header   http.Header
	lineHead func() (*httpfast.CommonHeader, error) // encoded for the line, on first use
}

// currentHeader gives the headers for a request. The caller must not change them.
func (c *linkHeaders) currentHeader() http.Header { return c.current.Load().header }

// setHeader replaces the headers of future requests.
func (c *linkHeaders) setHeader(h http.Header) {
	c.current.Store(&headerSnapshot{h, sync.OnceValues(func() (*httpfast.CommonHeader, error) { return c.line.RenderHeader(h) })})
}

// renewLogin replaces the token by a newer one of the same login. An older one changes
// nothing.
func (c *linkHeaders) renewLogin(l *Login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.TokenNumber <= c.tokenNumber {
		return
	}
	c.tokenNumber = l.TokenNumber
	h := maps.Clone(c.currentHeader())
	maps.Copy(h, http.Header{"Authorization": l.Header["Authorization"]})
	c.setHeader(h)
}
