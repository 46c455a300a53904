package mcpapps

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstSessionlessVersion is the first version of MCP without sessions.
const firstSessionlessVersion = "2026-07-28"

// DefaultSessionTimeout is after how long an idle session is closed, unless
// [HTTPOptions] say otherwise.
const DefaultSessionTimeout = 30 * time.Minute

// HTTPOptions are how [HTTPHandler] serves; the zero value is good for most
// servers.
type HTTPOptions struct {
	// SessionTimeout is after how long a session of an older client, from which no
	// request comes, is closed. 0 is [DefaultSessionTimeout]; below zero none is
	// ever closed.
	SessionTimeout time.Duration

	// CrossOrigin refuses requests that a browser sends for pages of other
	// origins. Nil refuses all of them; set one to trust some origins.
	CrossOrigin *http.CrossOriginProtection

	// Logger takes what goes wrong. Nil logs nothing.
	Logger *slog.Logger

	// EventStore lets older clients resume a stream that was cut. Nil is that they
	// cannot. Clients without sessions never can.
	EventStore mcp.EventStore

	// MaxBody bounds a request in bytes. 0 is the SDK's bound, 4 MiB.
	MaxBody int64
}

// HTTPHandler serves a server to clients of both eras of MCP. The SDK's handler
// is either for clients with sessions, who say once what they can show, or for
// those without, who say it with every request; this one has both.
//
// A call ends when its client gives it up: an older client by
// notifications/cancelled, a newer one by closing its request. The handler's
// context ends with it.
func HTTPHandler(s *mcp.Server, o HTTPOptions) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	timeout := o.SessionTimeout
	switch {
	case timeout == 0:
		timeout = DefaultSessionTimeout
	case timeout < 0:
		timeout = 0 // the SDK's word for never
	}
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: timeout, EventStore: o.EventStore, Logger: o.Logger, MaxRequestBodyBytes: o.MaxBody,
	})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, Logger: o.Logger, MaxRequestBodyBytes: o.MaxBody,
	})
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= firstSessionlessVersion {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	protection := o.CrossOrigin
	if protection == nil {
		protection = http.NewCrossOriginProtection()
	}
	return protection.Handler(both)
}
