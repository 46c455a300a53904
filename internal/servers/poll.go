package servers

import (
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// pollEvery is the interval at which due documents are looked for.
const pollEvery = 30 * time.Second

// polledDocument is the polling state of one document.
type polledDocument struct {
	last time.Time

	// The changed document that was announced and waits for a user's decision:
	// its etag and its digest.
	etag, digest string
}

// pollDocuments checks the documents of servers with poll_minutes for changes, until the
// registry closes.
func (s *Registry) pollDocuments() {
	all := map[serverKey]*polledDocument{}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ending.Done():
			return
		case now := <-ticker.C:
			if !s.o.PollsDocuments() {
				continue
			}
			for _, row := range s.dueDocuments(now, all) {
				ctx, cancel := context.WithTimeout(s.ending, 2*documentTime)
				s.checkDocument(ctx, row, all[serverKey{row.Tenant, row.ID}])
				cancel()
			}
		}
	}
}

// dueDocuments returns the servers whose polling interval has passed.
func (s *Registry) dueDocuments(now time.Time, all map[serverKey]*polledDocument) (rows []junctor.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range all {
		if s.made[key] == nil {
			delete(all, key)
		}
	}
	for key, g := range s.made {
		row := g.attachedRow()
		every := time.Duration(row.API.PollMinutes) * time.Minute
		switch w := all[key]; {
		case every == 0:
			delete(all, key)
		case w == nil:
			all[key] = &polledDocument{last: now} // it was read when it was added, so the interval begins now
		case now.Sub(w.last) >= every:
			w.last = now
			rows = append(rows, row)
		}
	}
	return rows
}

// checkDocument reads the document of a server again if it changed. Changes that may
// break callers are announced once and wait for a user.
func (s *Registry) checkDocument(ctx context.Context, row junctor.Server, w *polledDocument) {
	admitted, err := s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID) // the current row
	if err != nil {
		return
	}
	row = admitted.Row()
	stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
	if err != nil {
		return
	}
	known := stored.ETag
	if w.etag != "" {
		known = w.etag
	}
	judge := func(row junctor.Server) (admission.Server, error) { return s.Judge.Reread(row, admitted) }
	out, got, err := s.reimport(ctx, judge, row, admin.Import{}, known)
	log := s.o.Log.With(slog.String("server", row.ID))
	switch {
	case err != nil:
		log.Warn("cannot reload the API document of a server", telemetry.ErrorAttr(err))
	case got.same:
	case out.Applied:
		w.etag, w.digest = "", ""
		if len(out.Changes) > 0 {
			log.Info("API document of a server changed; its tools were updated", slog.Int("changes", len(out.Changes)))
		}
	default:
		told := w.digest
		if w.etag, w.digest = got.etag, digest(got.text); w.digest != told {
			log.Warn("API document of a server has breaking changes: review them with junctor server reimport", slog.Int("changes", len(out.Changes)))
		}
	}
}
