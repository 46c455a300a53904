package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/dashboard"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// WithDashboard has the server that shows the instance itself as an App. Once
// an instance had it, it keeps it: `server rm` removes it for good.
func WithDashboard() Option { return func(o *options) { o.dashboard = true } }

// newDashboard makes that server.
func (a *App) newDashboard() (*builtin.Server, error) {
	return dashboard.New(dashboard.Options{Source: figures{servers.AdminView{Registry: a.servers}, callView{a}}, Now: time.Now, Logger: a.log})
}

// figures are what the dashboard is made of: the servers that the principal may
// know of, and the newest calls that it may see.
type figures struct {
	servers.AdminView
	calls callView
}

// mostFigures is how many calls are looked at, at most.
const mostFigures = 5000

// Calls implements dashboard.Source.
func (f figures) Calls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) ([]junctor.Call, bool, error) {
	access, err := f.calls.CallAccess(ctx, p)
	if err != nil {
		return nil, false, err
	}
	calls, next := f.calls.app.journal.Calls(audit.Query{Access: access, Since: since, Limit: mostFigures, Match: match})
	return calls, next == "", nil
}
