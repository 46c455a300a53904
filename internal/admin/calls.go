package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// MaxPage is the maximum number of items on one page of a list.
const MaxPage = 1000

// CallsOf selects calls by caller and target. Every route that reads calls takes it. Its
// name is exported because registerOperation finds parameters of embedded structs in
// exported ones only.
type CallsOf struct {
	Tool       string             `query:"tool" doc:"Only calls of this tool, by its exposed name or its name at the server."`
	Server     string             `query:"server" doc:"Only calls of this server."`
	User       string             `query:"user" doc:"Only calls by this user, or by agents on the user's behalf. A user's ID or name."`
	Agent      string             `query:"agent" doc:"Only calls by this agent, or by users who acted as it."`
	Caller     string             `query:"caller" doc:"Only calls by this caller: the ID or name of a user or of a service's key, or the name of an agent."`
	EntryPoint junctor.EntryPoint `query:"entry_point" doc:"Only calls from this entry point."`
	Since      time.Time          `query:"since" doc:"Only calls that started at this time or later. For sums: from the day of this time, in UTC."`
}

// matches reports whether the filter, with names resolved, selects a call.
func (f *CallsOf) matches(c *junctor.Call) bool {
	isIn := func(want, is string) bool { return want == "" || want == is }
	return (isIn(f.Tool, c.Name) || f.Tool == c.Server+"__"+c.Name) && isIn(f.Server, c.Server) && isIn(f.User, c.User) &&
		isIn(f.Agent, c.Agent) && isIn(f.Caller, c.Subject) && isIn(string(f.EntryPoint), string(c.EntryPoint)) && !c.Start.Before(f.Since)
}

// callQuery is the query of list-calls and list-history.
type callQuery struct {
	HistoryFilter
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of items."`
	Cursor string `query:"cursor" maxLength:"500" doc:"The value of next from the previous page."`
}

// toPageFilter returns the filter of package history with its page.
func (q *callQuery) toPageFilter() history.Filter {
	f := q.toFilter()
	f.Limit, f.Cursor = q.Limit, q.Cursor
	return f
}

// callPage is the body of a list of calls: a page, and how far a search got.
type callPage[T any] struct {
	Items      []T       `json:"items" nullable:"false"`
	Next       string    `json:"next,omitempty" doc:"Value of the parameter cursor for the next page. Absent on the last page."`
	SearchedTo time.Time `json:"searched_to,omitzero" doc:"Present if the search ended before it had found a full page: only calls that started at this time or later were searched. Next continues the search."`
	// Total is nil on all pages but the first, because counting costs as much as a page.
	Total          *int `json:"total,omitempty" doc:"Number of calls on all pages. Only on the first page."`
	TotalIsMinimum bool `json:"total_is_minimum,omitempty" doc:"Whether there may be more calls than total, because counting stopped."`
}

// setTotal sets the total of a first page. If it is the only page, its calls are the total.
func (p *callPage[T]) setTotal(total junctor.RowTotal) {
	if p.Next == "" {
		total = junctor.RowTotal{Rows: len(p.Items)}
	}
	total.Rows = max(total.Rows, len(p.Items))
	p.Total, p.TotalIsMinimum = &total.Rows, total.AtLeast
}

// callPageResponse is the answer of a list of calls.
type callPageResponse[T any] struct{ Body callPage[T] }

// newCallPage returns a page whose items are never null in JSON.
func newCallPage[T any](items []T, next string, searchedTo time.Time) *callPageResponse[T] {
	if items == nil {
		items = []T{}
	}
	return &callPageResponse[T]{callPage[T]{Items: items, Next: next, SearchedTo: searchedTo}}
}

// registerCallRoutes registers the list of calls. history.go has the routes with payloads,
// call_tail.go the one that follows calls.
func (a *api) registerCallRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "list-calls", Method: http.MethodGet, Path: "/calls", Summary: "List calls, newest first", Tags: []string{"calls"},
	}, a.listCalls)
}

// listCalls joins the calls in memory with those of the history into one list. Both have
// the order of junctor.CallPosition, and an id decides which calls are the same.
func (a *api) listCalls(ctx context.Context, in *callQuery) (*callPageResponse[junctor.Call], error) {
	if err := a.resolveHistoryFilter(ctx, &in.HistoryFilter); err != nil {
		return nil, err
	}
	before, err := junctor.ParseCallCursor(in.Cursor)
	if err != nil {
		return nil, err
	}
	p := callerOf(ctx)
	access, err := a.Calls.CallAccess(ctx, p)
	if err != nil {
		return nil, err
	}
	// Memory first: a call that leaves it meanwhile is in the history.
	recent, more, err := a.Calls.RecentCalls(ctx, p, CallFilter{HistoryFilter: in.HistoryFilter, Limit: in.Limit, Before: before})
	if err != nil {
		return nil, err
	}
	list := callList{calls: recent, limit: in.Limit}
	if more {
		list.horizon = recent[len(recent)-1].Position()
	}
	total := junctor.RowTotal{Rows: len(recent), AtLeast: more}
	if in.Status == junctor.StatusRunning { // the history has none
		return list.firstPage(in.Cursor, total), nil
	}
	f := in.toPageFilter()
	f.WithoutPayloads = true
	var counted junctor.RowTotal
	if in.Cursor == "" { // before it is asked which calls are known: one that is written in between is counted once
		if counted, err = a.History.Count(ctx, access, f); err != nil && junctor.CodeOf(err) != junctor.CodeUnavailable {
			return nil, err
		}
	}
	// Known before the page is read: a call that is written in between is not known, and if
	// the page lacks a call that is known, the history has it at another position.
	var past history.Page
	known, err := a.History.Known(ctx, p.Tenant, endedCalls(recent))
	if err == nil {
		past, err = a.History.Query(ctx, access, f)
	}
	if junctor.CodeOf(err) == junctor.CodeUnavailable && in.Cursor == "" && len(recent) > 0 {
		// The newest calls are most needed when the database is gone. The next page says so.
		list.limitTo(recent[len(recent)-1].Position())
		list.searchedTo = recent[len(recent)-1].Start
		return list.page(), nil
	}
	if err != nil {
		return nil, err
	}
	if err := list.addPast(&past, known); err != nil {
		return nil, err
	}
	for _, isPast := range known {
		if isPast { // counted in the history
			total.Rows--
		}
	}
	total.Rows, total.AtLeast = total.Rows+counted.Rows, total.AtLeast || counted.AtLeast
	return list.firstPage(in.Cursor, total), nil
}

// endedCalls returns the ids of those calls that have ended.
func endedCalls(calls []junctor.Call) (ids []string) {
	for i := range calls {
		if calls[i].Status != junctor.StatusRunning {
			ids = append(ids, calls[i].ID)
		}
	}
	return ids
}

// callList is a page of calls from two sources that is being joined.
type callList struct {
	calls []junctor.Call
	limit int
	// Behind it a source has more calls than it returned; zero if there are no more.
	horizon    junctor.CallPosition
	searchedTo time.Time
}

// limitTo moves the horizon to a position, unless it is nearer already, and reports
// whether it moved.
func (l *callList) limitTo(position junctor.CallPosition) bool {
	if position.IsZero() || !l.horizon.IsZero() && l.horizon.Compare(position) <= 0 {
		return false
	}
	l.horizon = position
	return true
}

// addPast adds a page of the history. Its copy of a call wins over the one in memory,
// because the position of a call that an earlier process recorded is known only there;
// the client is known only in memory. Calls in memory that the history had before its page
// was read, known, are left out if the page lacks them.
func (l *callList) addPast(past *history.Page, known map[string]bool) error {
	next, err := junctor.ParseCallCursor(past.Next)
	if err != nil {
		return err
	}
	if l.limitTo(next) {
		l.searchedTo = past.SearchedTo
	}
	byID := make(map[string]string, len(l.calls))
	for i := range l.calls {
		byID[l.calls[i].ID] = l.calls[i].Client
	}
	isPast := make(map[string]bool, len(past.Calls))
	joined := make([]junctor.Call, 0, len(past.Calls)+len(l.calls))
	for i := range past.Calls {
		c := past.Calls[i].Call
		c.Client, isPast[c.ID] = byID[c.ID], true
		joined = append(joined, c)
	}
	for i := range l.calls {
		if id := l.calls[i].ID; !isPast[id] && !known[id] {
			joined = append(joined, l.calls[i])
		}
	}
	slices.SortFunc(joined, func(a, b junctor.Call) int { return a.Position().Compare(b.Position()) })
	if !l.horizon.IsZero() {
		joined = slices.DeleteFunc(joined, func(c junctor.Call) bool { return c.Position().Compare(l.horizon) > 0 })
	}
	l.calls = joined
	return nil
}

// firstPage returns the page that was joined, with the total if it is the first.
func (l *callList) firstPage(cursor string, total junctor.RowTotal) *callPageResponse[junctor.Call] {
	out := l.page()
	if cursor == "" {
		out.Body.setTotal(total)
	}
	return out
}

// page returns the page that was joined.
func (l *callList) page() *callPageResponse[junctor.Call] {
	if len(l.calls) > l.limit {
		l.calls = l.calls[:l.limit]
		return newCallPage(l.calls, l.calls[l.limit-1].Position().Cursor(), time.Time{})
	}
	if len(l.calls) == l.limit {
		l.searchedTo = time.Time{}
	}
	return newCallPage(l.calls, l.horizon.Cursor(), l.searchedTo)
}
