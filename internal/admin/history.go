package admin

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// HistoryFilter is what lists and exports of the history take.
type HistoryFilter struct {
	CallsOf
	View   string         `query:"view" maxLength:"40" doc:"Only calls that this View made, by its id."`
	Kind   junctor.Kind   `query:"kind" doc:"Only calls of this kind."`
	Status junctor.Status `query:"status" doc:"Only calls that ended so."`
	Until  time.Time      `query:"until" doc:"Only calls that started before this time."`
	Text   string         `query:"text" maxLength:"200" doc:"Only calls that have this text in parameters, result or reason."`
}

func (f *HistoryFilter) filter() history.Filter {
	return history.Filter{
		Tool: f.Tool, Server: f.Server, User: f.User, Agent: f.Agent, View: f.View, Caller: f.Caller, Kind: f.Kind, Door: f.Door, Status: f.Status,
		Since: f.Since, Until: f.Until, Text: f.Text,
	}
}

type historyQuery struct {
	HistoryFilter
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most this many."`
	Cursor string `query:"cursor" maxLength:"500" doc:"The next of the page before."`
}

type exportQuery struct {
	HistoryFilter
	Format string `query:"format" enum:"jsonl,csv" default:"jsonl" doc:"An object a line, or comma-separated values under a heading."`
}

type usageQuery struct {
	CallsOf
	By    string    `query:"by" enum:"tool,server,user,agent,caller,door,day" default:"tool" doc:"What is summed up."`
	Until time.Time `query:"until" doc:"To the day of this time, in UTC."`
}

func (q *usageQuery) filter() history.UsageFilter {
	return history.UsageFilter{
		Since: q.Since, Until: q.Until, Tool: q.Tool, Server: q.Server, User: q.User, Agent: q.Agent, Caller: q.Caller, Door: q.Door,
	}
}

type callID struct {
	ID string `path:"id" doc:"The call's id."`
}

type oneEntry struct{ Body history.Entry }

func (a *api) historyRoutes() {
	tags := []string{"calls"}
	route(a, huma.Operation{
		OperationID: "list-history", Method: http.MethodGet, Path: "/calls/history", Summary: "List calls with what was said in them, newest first", Tags: tags,
	}, func(ctx context.Context, in *historyQuery) (*pageOf[history.Entry], error) {
		if err := a.userID(ctx, &in.CallsOf); err != nil {
			return nil, err
		}
		access, err := a.Calls.CallAccess(ctx, caller(ctx))
		if err != nil {
			return nil, err
		}
		f := in.filter()
		f.Limit, f.Cursor = in.Limit, in.Cursor
		page, err := a.History.Query(ctx, access, f)
		return newPage(page.Calls, page.Next), err
	})
	route(a, huma.Operation{
		OperationID: "get-call", Method: http.MethodGet, Path: "/calls/{id}", Summary: "Show a call with what was said in it", Tags: tags,
	}, func(ctx context.Context, in *callID) (*oneEntry, error) {
		access, err := a.Calls.CallAccess(ctx, caller(ctx))
		if err != nil {
			return nil, err
		}
		entry, err := a.History.Get(ctx, access, in.ID)
		return &oneEntry{entry}, err
	})
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	route(a, huma.Operation{
		OperationID: "export-calls", Method: http.MethodGet, Path: "/calls/export", Summary: "Export calls with what was said in them, newest first", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "All calls that match. An answer that is cut off in the middle is not whole: the connection ends without saying so.",
			Content:     map[string]*huma.MediaType{"application/jsonl": text, "text/csv": text},
		}},
	}, a.exportCalls)
	route(a, huma.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/usage", Summary: "Sum up calls by tool, server, user, agent, caller, door or day", Tags: []string{"usage"},
	}, func(ctx context.Context, in *usageQuery) (*pageOf[history.Usage], error) {
		if err := a.userID(ctx, &in.CallsOf); err != nil {
			return nil, err
		}
		access, err := a.Calls.CallAccess(ctx, caller(ctx))
		if err != nil {
			return nil, err
		}
		usage, err := a.History.Usage(ctx, access, in.filter(), history.Group(in.By))
		return newPage(usage, ""), err
	})
}

func (a *api) exportCalls(ctx context.Context, in *exportQuery) (*huma.StreamResponse, error) {
	if err := a.userID(ctx, &in.CallsOf); err != nil {
		return nil, err
	}
	access, err := a.Calls.CallAccess(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	format, mediaType := history.JSONLines, "application/jsonl"
	if in.Format == "csv" {
		format, mediaType = history.CSV, "text/csv; charset=utf-8"
	}
	return a.download(ctx, "calls."+in.Format, mediaType, func(w io.Writer) error { return a.History.Export(ctx, w, access, in.filter(), format) }), nil
}

// download answers with a file that write writes.
func (a *api) download(ctx context.Context, name, mediaType string, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		out := &attachment{w: w, mediaType: mediaType, name: name}
		err := write(out)
		switch {
		case err != nil && !out.begun:
			writeProblem(w, a.problem(ctx, err))
		case err != nil:
			a.Log.WarnContext(ctx, "an export ended early", "file", name, "error", err)
			panic(http.ErrAbortHandler) // what was sent must not look whole
		default:
			out.begin()
		}
	}}
}

// attachment is an answer whose head is written with its first byte: until then
// it can still be an error.
type attachment struct {
	w               http.ResponseWriter
	mediaType, name string
	begun           bool
}

func (a *attachment) begin() {
	if a.begun {
		return
	}
	a.begun = true
	a.w.Header().Set("Content-Type", a.mediaType)
	a.w.Header().Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	a.w.WriteHeader(http.StatusOK)
}

func (a *attachment) Write(b []byte) (int, error) {
	a.begin()
	return a.w.Write(b)
}
