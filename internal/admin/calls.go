package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// MaxPage is the maximum number of items on one page of a list.
const MaxPage = 1000

// CallsOf selects calls by caller and target. Every route that reads calls takes it. Its
// name is exported because huma finds parameters of embedded structs in exported ones
// only.
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

// callQuery is the query of list-calls. Its members have the order of CallFilter, into
// which it is converted.
type callQuery struct {
	CallsOf
	View   string         `query:"view" maxLength:"40" doc:"Only calls that this App view made, by its ID."`
	Status junctor.Status `query:"status" doc:"Only calls with this status."`
	Limit  int            `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of items."`
	Cursor string         `query:"cursor" maxLength:"500" doc:"The value of next from the previous page."`
}

// registerCallRoutes registers the list of calls. history.go has the routes with payloads,
// call_tail.go the one that follows calls.
func (a *api) registerCallRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "list-calls", Method: http.MethodGet, Path: "/calls", Summary: "List calls, newest first", Tags: []string{"calls"},
	}, func(ctx context.Context, in *callQuery) (*pageResponse[junctor.Call], error) {
		if err := a.resolveCallsOf(ctx, &in.CallsOf); err != nil {
			return nil, err
		}
		calls, next, err := a.Calls.Calls(ctx, callerOf(ctx), CallFilter(*in))
		return newPage(calls, next), err
	})
}
