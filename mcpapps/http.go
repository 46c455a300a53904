package mcpapps

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modern is the first version of MCP without sessions.
const modern = "2026-07-28"

// HTTPHandler serves a server to clients of both eras of MCP. The SDK's handler
// is either for clients with sessions, who say once what they can show, or for
// those without, who say it with every request; this one has both.
func HTTPHandler(s *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	sessions := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}
