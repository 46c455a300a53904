package mcpapps

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstSessionlessVersion is the first version of MCP without sessions. Versions
// are dates, so they compare as strings.
const firstSessionlessVersion = "2026-07-28"

// DefaultSessionTimeout is the idle time after which [HTTPHandler] closes a session
// by default.
const DefaultSessionTimeout = 30 * time.Minute

// HTTPOptions configure [HTTPHandler]. The zero value suits most servers.
type HTTPOptions struct {
	// SessionTimeout is the idle time after which a session of an older client is
	// closed. 0 means [DefaultSessionTimeout]; a negative value means never.
	SessionTimeout time.Duration

	// CrossOrigin rejects requests that a browser sends for pages of other origins.
	// Nil rejects all of them; set it to trust some origins.
	CrossOrigin *http.CrossOriginProtection

	// Logger receives errors. Nil discards them.
	Logger *slog.Logger

	// EventStore lets older clients resume an interrupted stream. Nil means that
	// they cannot. Clients without sessions never can.
	EventStore mcp.EventStore

	// MaxBody bounds a request in bytes. 0 means the SDK's limit, 4 MiB.
	MaxBody int64
}

// HTTPHandler serves s to clients with and without sessions. The SDK's own handler
// supports one of the two: clients with sessions announce once what they can show,
// newer clients announce it with every request. This handler chooses by the version
// of each request.
//
// A call ends when its client cancels it: an older client sends
// notifications/cancelled, a newer one closes its request. The context of the
// tool's handler ends with it.
func HTTPHandler(s *mcp.Server, o HTTPOptions) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	timeout := o.SessionTimeout
	switch {
	case timeout == 0:
		timeout = DefaultSessionTimeout
	case timeout < 0:
		timeout = 0 // in the SDK, 0 means never
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
