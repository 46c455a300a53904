package admin

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/junctor-mcp/junctor/internal/audit"
)

// Journal is the chained record of every call on this replica. internal/app implements it.
type Journal interface {
	// Verify reads the journal from its beginning and reports progress to tell now and
	// then. The error says that the journal could not be read; broken records are in the
	// report.
	Verify(ctx context.Context, tell func(audit.Progress)) (audit.Report, error)
	// Export writes the records between two times, oldest first, and then the signed head.
	// Zero times do not bound.
	Export(ctx context.Context, w io.Writer, since, until time.Time) error
}

// journalQuery is the query of export-journal.
type journalQuery struct {
	Since time.Time `query:"since" doc:"Only records at this time or later."`
	Until time.Time `query:"until" doc:"Only records before this time."`
}

// registerJournalRoutes registers the routes below /audit. They concern the records of all
// tenants, so only operators may call them.
func (a *api) registerJournalRoutes() {
	tags := []string{"audit"}
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	registerRoute(a, huma.Operation{
		OperationID: "verify-journal", Method: http.MethodPost, Path: "/audit/verify", Summary: "Verify that no record of the journal was changed, moved or removed", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "Events: progress (records, bytes, total) at intervals, then one report (node, records, first, last, ok, bad, notes) or error (Problem). bad names the first invalid record. Closing the stream cancels the verification.",
			Content:     map[string]*huma.MediaType{"text/event-stream": text},
		}},
	}, func(ctx context.Context, _ *empty) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.verifyJournal(ctx, hctx) }}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "export-journal", Method: http.MethodGet, Path: "/audit/export", Summary: "Export the journal with its signed head, oldest first", Tags: tags,
		Responses: map[string]*huma.Response{"200": {
			Description: "One JSON object per line: the hash and the exact record that it covers. The last line is the signed head. If the export fails, the connection is aborted: the response is then incomplete.",
			Content:     map[string]*huma.MediaType{"application/jsonl": text},
		}},
	}, func(ctx context.Context, in *journalQuery) (*huma.StreamResponse, error) {
		return a.streamFile(ctx, "journal.jsonl", "application/jsonl", func(w io.Writer) error { return a.Journal.Export(ctx, w, in.Since, in.Until) }), nil
	})
}

// verifyJournal streams the progress of a verification and then its report.
func (a *api) verifyJournal(ctx context.Context, hctx huma.Context) {
	_, w := humago.Unwrap(hctx)
	out := newEventStream(w)
	report, err := a.Journal.Verify(ctx, func(p audit.Progress) { out.sendEvent("progress", p) })
	switch {
	case err == nil:
		out.sendEvent("report", report)
	case out.hasBegun():
		out.sendEvent("error", a.toProblem(ctx, err))
	default:
		writeProblem(w, a.toProblem(ctx, err))
	}
}
