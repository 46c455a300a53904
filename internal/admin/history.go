package admin

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/series"
)

// HistoryFilter selects calls for the list and the export of the history.
type HistoryFilter struct {
	CallsOf
	View   string         `query:"view" maxLength:"40" doc:"Only calls that this App view made, by its ID."`
	Key    string         `query:"key" maxLength:"40" doc:"Only calls with this key, by its ID, name or prefix."`
	Kind   junctor.Kind   `query:"kind" doc:"Only calls of this kind."`
	Status junctor.Status `query:"status" doc:"Only calls with this status."`
	Until  time.Time      `query:"until" doc:"Only calls that started before this time."`
	Text   string         `query:"text" maxLength:"200" doc:"Only calls with this text in their tool, caller, parameters, result or reason, in upper or lower case."`
}

// toFilter returns the filter of package history, without its page.
func (f *HistoryFilter) toFilter() history.Filter {
	return history.Filter{
		Tool: f.Tool, Server: f.Server, User: f.User, Agent: f.Agent, View: f.View, Key: f.Key, Caller: f.Caller, Kind: f.Kind, EntryPoint: f.EntryPoint, Status: f.Status,
		Since: f.Since, Until: f.Until, Text: f.Text,
	}
}

// exportQuery is the query of export-calls.
type exportQuery struct {
	HistoryFilter
	Format string `query:"format" enum:"jsonl,csv" default:"jsonl" doc:"Format: one JSON object per line, or comma-separated values with a header line."`
}

// usageQuery is the query of get-usage.
type usageQuery struct {
	ListQuery
	CallsOf
	By    string    `query:"by" enum:"tool,server,user,agent,caller,entry_point,day" default:"tool" doc:"Dimension of the sums."`
	Until time.Time `query:"until" doc:"Only calls up to and including the day of this time, in UTC."`
}

// toFilter returns the filter of package series.
func (q *usageQuery) toFilter() series.UsageFilter {
	return series.UsageFilter{
		Since: q.Since, Until: q.Until, Tool: q.Tool, Server: q.Server, User: q.User, Agent: q.Agent, Caller: q.Caller, EntryPoint: q.EntryPoint,
	}
}

// usageList is the shape of get-usage.
func usageList() listShape[series.Usage] {
	words := func(u *series.Usage) []string {
		return []string{u.Server, u.Name, string(u.EntryPoint), u.Issuer, u.Subject, u.User, u.Agent}
	}
	return listShape[series.Usage]{
		id: func(u *series.Usage) string {
			return strings.Join(append(words(u), u.Day.Format(time.DateOnly)), "\x00")
		},
		orders: []listOrder[series.Usage]{
			byNumber("calls", func(u *series.Usage) int64 { return u.Calls }),
			byNumber("errors", func(u *series.Usage) int64 { return u.Errors }),
			byNumber("refused", func(u *series.Usage) int64 { return u.Refused }),
			byNumber("p95_ns", func(u *series.Usage) int64 { return int64(u.P95) }),
			byNumber("bytes_out", func(u *series.Usage) int64 { return u.BytesOut }),
			byText("name", func(u *series.Usage) string { return strings.Join(words(u), " ") }),
			byTime("day", func(u *series.Usage) time.Time { return u.Day }),
		},
		newest: true,
		text:   words,
	}
}

// callID is the path of one call.
type callID struct {
	ID string `path:"id" doc:"The call's ID, a unique prefix of at least 6 characters, or last for the newest call."`
}

// CallDetails is one call with its payloads and what rules did with it.
type CallDetails struct {
	history.Entry
	Policy []junctor.PolicyHit `json:"policy,omitempty" nullable:"false" doc:"What rules did with the call, in order, for readers of its payload."`
}

// callDetailsResponse is the answer of get-call.
type callDetailsResponse struct{ Body CallDetails }

// registerHistoryRoutes registers the routes that read calls with payloads, and sums. Each
// asks CallAccess first, which bounds what the caller sees.
func (a *api) registerHistoryRoutes() {
	tags := []string{"calls"}
	registerRoute(a, huma.Operation{
		OperationID: "list-history", Method: http.MethodGet, Path: "/calls/history", Summary: "List calls with their payloads, newest first", Tags: tags,
	}, func(ctx context.Context, in *callQuery) (*callPageResponse[history.Entry], error) {
		if err := a.resolveHistoryFilter(ctx, &in.HistoryFilter); err != nil {
			return nil, err
		}
		access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		f := in.toPageFilter()
		page, err := a.History.Query(ctx, access, f)
		out := newCallPage(page.Calls, page.Next, page.SearchedTo)
		if err != nil || in.Cursor != "" {
			return out, err
		}
		total := junctor.RowTotal{}
		if page.Next != "" {
			total, err = a.History.Count(ctx, access, f)
		}
		out.Body.setTotal(total)
		return out, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-call", Method: http.MethodGet, Path: "/calls/{id}", Summary: "Show a call with its payload", Tags: tags,
	}, func(ctx context.Context, in *callID) (*callDetailsResponse, error) {
		access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		entry, err := a.findCall(ctx, access, in.ID)
		// The scope of the operation allows to read rules, and a restricted entry has no hits.
		return &callDetailsResponse{CallDetails{Entry: entry, Policy: junctor.LimitHits(entry.Tenant, entry.Policy)}}, err
	})
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	registerRoute(a, huma.Operation{
		OperationID: "export-calls", Method: http.MethodGet, Path: "/calls/export", Summary: "Export calls with their payloads, newest first", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "All matching calls. If the export fails, the connection is aborted: the response is then incomplete.",
			Content:     map[string]*huma.MediaType{"application/jsonl": text, "text/csv": text},
		}},
	}, a.exportCalls)
	sums := usageList()
	registerRoute(a, huma.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/usage", Summary: "Sum up calls by tool, server, user, agent, caller, entry_point or day", Tags: []string{"usage"},
	}, func(ctx context.Context, in *usageQuery) (*pageResponse[series.Usage], error) {
		if err := a.resolveCallsOf(ctx, &in.CallsOf); err != nil {
			return nil, err
		}
		access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		usage, err := a.Series.Usage(ctx, access, in.toFilter(), series.UsageGroup(in.By))
		if err != nil {
			return nil, err
		}
		page := in.ListQuery
		if page.Sort == "" && in.By == string(series.UsageByDay) {
			page.Sort = "day"
		}
		return sums.pageOf(usage, &page)
	})
	a.documentSorts("/usage", sums.sorts())
}

// lastCall stands for the newest call in place of an id.
const lastCall = "last"

// findCall returns a call by its id, by the beginning of one, or as lastCall. Calls are
// written shortly after they are answered, so it waits for those that are not written yet:
// a call that has been answered is found.
func (a *api) findCall(ctx context.Context, access junctor.CallAccess, id string) (history.Entry, error) {
	if id != lastCall {
		entry, err := a.History.Get(ctx, access, id)
		if junctor.CodeOf(err) != junctor.CodeNotFound || a.History.Flush(ctx) != nil {
			return entry, err
		}
		return a.History.Get(ctx, access, id)
	}
	if err := a.History.Flush(ctx); err != nil {
		return history.Entry{}, err
	}
	page, err := a.History.Query(ctx, access, history.Filter{Limit: 1})
	for err == nil && len(page.Calls) == 0 && page.Next != "" { // most calls are of others
		page, err = a.History.Query(ctx, access, history.Filter{Limit: 1, Cursor: page.Next})
	}
	if err == nil && len(page.Calls) == 0 {
		err = junctor.Errorf(junctor.CodeNotFound, "the history has no calls yet")
	}
	if err != nil {
		return history.Entry{}, err
	}
	return page.Calls[0], nil
}

// exportCalls handles export-calls. It resolves the caller's access before the stream
// begins, so that a refusal still has its own status.
func (a *api) exportCalls(ctx context.Context, in *exportQuery) (*huma.StreamResponse, error) {
	if err := a.resolveHistoryFilter(ctx, &in.HistoryFilter); err != nil {
		return nil, err
	}
	access, err := a.Calls.CallAccess(ctx, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	format, mediaType := history.FormatJSONLines, "application/jsonl"
	if in.Format == "csv" {
		format, mediaType = history.FormatCSV, "text/csv; charset=utf-8"
	}
	return a.streamFile(ctx, "calls."+in.Format, mediaType, func(w io.Writer) error { return a.History.Export(ctx, w, access, in.toFilter(), format) }), nil
}

// streamFile answers with a file that write produces. If write fails before its first
// byte, the answer is a problem. If it fails later, the connection is cut, so that a
// client cannot take a part for the whole.
func (a *api) streamFile(ctx context.Context, name, mediaType string, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		out := &attachment{w: w, mediaType: mediaType, name: name}
		err := write(out)
		switch {
		case err != nil && !out.headWritten:
			writeProblem(w, a.toProblem(ctx, err))
		case err != nil:
			a.Log.WarnContext(ctx, "export ended early: the file is incomplete", "file", name, "error", err)
			panic(http.ErrAbortHandler) // a part must not look like the whole file
		default:
			out.writeHead()
		}
	}}
}

// attachment is an answer whose head is written with its first byte. Until then the answer
// can still become an error.
type attachment struct {
	w               http.ResponseWriter
	mediaType, name string
	headWritten     bool
}

// writeHead writes status and headers, once.
func (a *attachment) writeHead() {
	if a.headWritten {
		return
	}
	a.headWritten = true
	a.w.Header().Set("Content-Type", a.mediaType)
	a.w.Header().Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	a.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (a *attachment) Write(b []byte) (int, error) {
	a.writeHead()
	return a.w.Write(b)
}
