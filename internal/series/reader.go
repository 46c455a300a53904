package series

import (
	"context"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// ReaderOptions configure a Reader. All fields are required.
type ReaderOptions struct {
	DB      store.Database
	Servers KnownServers
	Now     func() time.Time
}

// KnownServers says which servers a principal may know of.
type KnownServers interface {
	// KnownServers returns the servers by id, and since when each has its id.
	KnownServers(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error)
}

// Reader answers queries of principals: each gets the series that it may see.
type Reader struct{ o ReaderOptions }

// NewReader returns a Reader.
func NewReader(o ReaderOptions) *Reader { return &Reader{o} }

// Read answers a query of a principal. Admins see all series of their tenant. Principals
// with the scope audit:read see those of servers that they may know of, and of their tools.
// Users see their own. Everything else is denied.
func (r *Reader) Read(ctx context.Context, p *junctor.Principal, q Query) (Answer, error) {
	own := p.User != "" && p.Agent == "" && (q.By == ByUser || q.By == ByUserTool)
	switch {
	case p.Has(junctor.ScopeAdmin) && p.Agent == "":
	case p.Has(junctor.ScopeAuditRead) && p.Agent == "" && (q.By == ByServer || q.By == ByTool):
		known, err := r.o.Servers.KnownServers(ctx, p)
		if err != nil {
			return Answer{}, err
		}
		if q.First == nil {
			q.First = slices.Collect(maps.Keys(known))
		}
		q.First = slices.DeleteFunc(slices.Clone(q.First), func(id string) bool { _, ok := known[id]; return !ok })
		if q.First == nil {
			q.First = []string{} // none, which is not all
		}
		q.since = known
	case own:
		q.First = []string{p.User}
	default:
		return Answer{}, junctor.Errorf(junctor.CodeDenied,
			"the numbers of all calls by %s require the scope admin; with audit:read, ask by server or by tool; users may ask for their own with by=user or by=user_tool", q.By)
	}
	return Read(ctx, r.o.DB, p.Tenant, q, r.o.Now())
}
