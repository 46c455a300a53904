package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// MaxPage is the most that one page of a list holds.
const MaxPage = 1000

type callQuery struct {
	Tool   string         `query:"tool" doc:"Only calls of this tool: its exposed name, or the server's own."`
	Agent  string         `query:"agent" doc:"Only calls by this caller: a key's id, or an agent's name."`
	Status junctor.Status `query:"status" doc:"Only calls that ended so."`
	Since  time.Time      `query:"since" doc:"Only calls that started at this time or later."`
	Limit  int            `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most this many."`
	Cursor string         `query:"cursor" maxLength:"500" doc:"The next of the page before."`
}

func (a *api) callRoutes() {
	route(a, huma.Operation{
		OperationID: "list-calls", Method: http.MethodGet, Path: "/calls", Summary: "List calls, newest first", Tags: []string{"calls"},
	}, func(ctx context.Context, in *callQuery) (*pageOf[junctor.Call], error) {
		calls, next, err := a.Calls.Calls(ctx, caller(ctx), CallFilter(*in))
		return newPage(calls, next), err
	})
}
