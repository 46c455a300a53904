package app

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/dashboard"
)

// WithDashboard has the server that shows the instance itself as an App. Once
// an instance had it, it keeps it: `server rm` removes it for good.
func WithDashboard() Option { return func(o *options) { o.dashboard = true } }

// newDashboard makes that server.
func (s *servers) newDashboard() (*builtin.Server, error) {
	return dashboard.New(dashboard.Options{Source: figures{s}, Now: time.Now, Logger: s.app.log})
}

// figures are what the dashboard is made of: the servers that the principal may
// know of, and the newest calls of the tenant.
type figures struct{ *servers }

// mostFigures is how many calls are looked at, at most.
const mostFigures = 5000

// Calls implements dashboard.Source.
func (f figures) Calls(p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) ([]junctor.Call, bool) {
	calls, next := f.app.journal.Calls(audit.Query{Tenant: p.Tenant, Since: since, Limit: mostFigures, Match: match})
	return calls, next == 0
}
