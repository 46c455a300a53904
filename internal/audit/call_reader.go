package audit

import (
	"context"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CallReaderOptions configures NewCallReader. All fields are required.
type CallReaderOptions struct {
	Journal *Journal
	Tails   *Tails
	Servers KnownServers
	Rooms   Rooms
	// ExposedName returns the name by which clients know a tool of a server.
	ExposedName func(server, tool string) string
}

// KnownServers says which servers a principal may know of.
type KnownServers interface {
	// KnownServers returns the servers by id, and since when each has its id: calls
	// before that went to another server.
	KnownServers(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error)
	// ServerLookup answers the same from memory, for calls as they happen.
	ServerLookup(p *junctor.Principal) func(server string) bool
}

// Rooms says which rooms a principal is in.
type Rooms interface {
	List(ctx context.Context, p *junctor.Principal) ([]junctor.Room, error)
}

// CallReader reads the newest calls for principals: each gets the calls, and the parts of
// them, that it may see.
type CallReader struct{ o CallReaderOptions }

// NewCallReader returns a CallReader.
func NewCallReader(o CallReaderOptions) *CallReader { return &CallReader{o} }

// CallFilter selects calls. Zero members do not filter.
type CallFilter struct {
	Tool       string // its exposed name, or the server's own
	Server     string
	User       string // an id
	Agent      string
	Caller     string // a user's id, an agent's name, or the id of a key
	EntryPoint junctor.EntryPoint
	View       string
	Key        string // id of the key that the caller presented
	Kind       junctor.Kind
	Status     junctor.Status
	Since      time.Time // inclusive
	Until      time.Time // exclusive
	Text       string    // in the reason, in server__name, or in the agent or subject
	Limit      int
	Before     junctor.CallPosition // only calls behind it in the list
}

// CallAccess returns which calls, and how much of them, a principal may see. Of the calls
// of others, principals that may read the record of calls see those on servers that they
// may know of; members of a room see all calls in it.
func (r *CallReader) CallAccess(ctx context.Context, p *junctor.Principal) (junctor.CallAccess, error) {
	if p.Agent != "" || p.Has(junctor.ScopeAdmin) {
		return junctor.NewCallAccess(p, nil), nil
	}
	var servers map[string]time.Time
	if p.Has(junctor.ScopeAuditRead) {
		var err error
		if servers, err = r.o.Servers.KnownServers(ctx, p); err != nil {
			return junctor.CallAccess{}, err
		}
	}
	rooms, err := r.o.Rooms.List(ctx, p)
	if err != nil {
		return junctor.CallAccess{}, err
	}
	ids := make([]string, len(rooms))
	for i := range rooms {
		ids[i] = rooms[i].ID
	}
	return junctor.NewCallAccess(p, servers).WithRooms(ids...), nil
}

// Calls returns the newest calls that match, newest first, from memory. more reports that
// there are further ones there.
func (r *CallReader) Calls(ctx context.Context, p *junctor.Principal, f *CallFilter) (calls []junctor.Call, more bool, err error) {
	access, err := r.CallAccess(ctx, p)
	if err != nil {
		return nil, false, err
	}
	calls, more = r.o.Journal.Calls(Query{Access: access, Since: f.Since, Limit: f.Limit, Before: f.Before, Match: func(c *junctor.Call) bool { return r.matches(f, c) }})
	return calls, more, nil
}

// matches reports whether a filter selects a call.
func (r *CallReader) matches(f *CallFilter, c *junctor.Call) bool {
	return (f.Tool == "" || f.Tool == c.Name || f.Tool == r.o.ExposedName(c.Server, c.Name)) &&
		(f.Server == "" || f.Server == c.Server) && (f.User == "" || f.User == c.User) && (f.Agent == "" || f.Agent == c.Agent) &&
		(f.Caller == "" || f.Caller == c.Subject) && (f.EntryPoint == "" || f.EntryPoint == c.EntryPoint) &&
		(f.View == "" || f.View == c.View) && (f.Key == "" || f.Key == presentedKey(c)) && (f.Status == "" || f.Status == c.Status) && (f.Kind == "" || f.Kind == c.Kind) &&
		(f.Until.IsZero() || c.Start.Before(f.Until)) && (f.Text == "" || containsText(f.Text, c.Reason, c.Server+"__"+c.Name, c.Agent, c.Subject))
}

// containsText reports whether a text is in one of the others, in upper or lower case.
func containsText(text string, others ...string) bool {
	text = foldText(text)
	return slices.ContainsFunc(others, func(other string) bool { return strings.Contains(foldText(other), text) })
}

// foldText returns the form in which texts are compared: lower case, by way of upper case,
// since some letters have two lower-case forms.
func foldText(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// maxNewestCalls is the most that NewestCalls returns.
const maxNewestCalls = 5000

// NewestCalls returns the calls since a time that match, newest first. all reports that
// there are no more.
func (r *CallReader) NewestCalls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) (calls []junctor.Call, all bool, err error) {
	access, err := r.CallAccess(ctx, p)
	if err != nil {
		return nil, false, err
	}
	calls, more := r.o.Journal.Calls(Query{Access: access, Since: since, Limit: maxNewestCalls, Match: match})
	return calls, !more, nil
}

// Follow begins to follow the calls that a principal may know of, and that match selects; nil
// selects all. match receives a call in the form in which the principal may read it. The
// caller closes the tail.
func (r *CallReader) Follow(p *junctor.Principal, match func(*junctor.Call) bool) *Tail {
	tail := &Tail{reader: r, match: match}
	tail.rights.Store(r.newTailRights(p))
	r.o.Tails.add(p.Tenant, tail)
	return tail
}

// newTailRights returns what can be said of a principal's rights from memory.
func (r *CallReader) newTailRights(p *junctor.Principal) *tailRights {
	return &tailRights{scopes: slices.Clone(p.Scopes), own: junctor.NewCallAccess(p, nil), knows: r.o.Servers.ServerLookup(p)}
}

// readTailRights returns the rights of a principal, read again if the former are too old or
// do not cover the calls.
func (r *CallReader) readTailRights(ctx context.Context, p *junctor.Principal, former *tailRights, batches []*tailBatch) (*tailRights, error) {
	now := time.Now()
	if !former.readAt.IsZero() && now.Sub(former.readAt) < tailAccessAge && (former.own.All() || former.cover(batches)) {
		return former, nil
	}
	rights := *former
	rights.known, rights.readAt = rights.own, now
	if p.Agent == "" && p.Has(junctor.ScopeAuditRead) && !rights.own.All() {
		servers, err := r.o.Servers.KnownServers(ctx, p)
		if err != nil {
			return nil, err
		}
		rights.known = junctor.NewCallAccess(p, servers)
	}
	return &rights, nil
}
