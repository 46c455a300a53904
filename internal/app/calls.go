package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// callView is the record of calls as principals may see it.
type callView struct{ app *App }

// CallAccess says which calls, and how much of them, a principal may see. Of the
// calls of others, those that may read the record of calls see what ran on the
// servers that they may know of; of calls in rooms, those who are in them see all.
func (c callView) CallAccess(ctx context.Context, p *junctor.Principal) (junctor.CallAccess, error) {
	if p.Agent != "" || p.Has(junctor.ScopeAdmin) {
		return junctor.NewCallAccess(p, nil), nil
	}
	var servers map[string]time.Time
	if p.Has(junctor.ScopeAuditRead) {
		var err error
		if servers, err = c.app.servers.KnownServers(ctx, p); err != nil {
			return junctor.CallAccess{}, err
		}
	}
	in, err := c.app.rooms.Workspaces(ctx, p)
	if err != nil {
		return junctor.CallAccess{}, err
	}
	ids := make([]string, len(in))
	for i := range in {
		ids[i] = in[i].ID
	}
	return junctor.NewCallAccess(p, servers).WithRooms(ids...), nil
}

// Calls gives the recent calls that the principal may know of.
func (c callView) Calls(ctx context.Context, p *junctor.Principal, f admin.CallFilter) ([]junctor.Call, string, error) {
	access, err := c.CallAccess(ctx, p)
	if err != nil {
		return nil, "", err
	}
	if f.Cursor != "" && !isID(f.Cursor) {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "unknown cursor %q: use the next of the page before", f.Cursor)
	}
	calls, next := c.app.journal.Calls(audit.Query{Access: access, Since: f.Since, Limit: f.Limit, After: f.Cursor, Match: func(call *junctor.Call) bool {
		return (f.Tool == "" || f.Tool == call.Name || f.Tool == catalog.Exposed(call.Server, call.Name, c.app.cfg.NameLimit)) &&
			(f.Server == "" || f.Server == call.Server) && (f.User == "" || f.User == call.User) && (f.Agent == "" || f.Agent == call.Agent) &&
			(f.Caller == "" || f.Caller == call.Subject) && (f.Door == "" || f.Door == call.Door) && (f.View == "" || f.View == call.View) && (f.Status == "" || f.Status == call.Status)
	}})
	return calls, next, nil
}
