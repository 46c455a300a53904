package app

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// TestPublicServerFollowsHTTPFastPath holds that the setting decides which server reads
// requests on the public address.
func TestPublicServerFollowsHTTPFastPath(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		a := &App{cfg: &config.Config{HTTPFastPath: on}, log: slog.New(slog.DiscardHandler)}
		if _, fast := a.publicServer(http.NotFoundHandler()).(*httpfast.Server); fast != on {
			t.Errorf("http-fast-path %t: the fast path serves: %t", on, fast)
		}
	}
}
