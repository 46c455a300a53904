package upstream

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers share HTTP clients. When one of them is closed, as after each call of
// an endpoint that is no registered server, the others keep their connections.
func TestCloseLeavesTheConnectionsOfOthers(t *testing.T) {
	t.Parallel()
	var dials atomic.Int64
	peer := newPeer()
	web := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peer.Server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dials.Add(1)
		}
	}
	web.Start()
	t.Cleanup(func() {
		_ = web.Config.Close()
		web.Close()
	})
	stays := newServer(t, web.URL)
	do(t, stays, toolCall("echo", `{}`))
	before := dials.Load()
	const closed = 5
	for range closed {
		leaves := newServer(t, newPeer().modern(t), func(o *Options) { o.Client, o.StreamClient = stays.opts.Client, stays.opts.StreamClient })
		do(t, leaves, toolCall("echo", `{}`))
		leaves.Close()
		do(t, stays, toolCall("echo", `{}`))
	}
	// What listens for changes has a connection of its own, which may come late.
	if n := dials.Load() - before; n > 1 {
		t.Errorf("%d connections were made while %d servers were closed", n, closed)
	}
}
