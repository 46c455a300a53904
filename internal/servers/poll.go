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

// pollEvery is how often it is asked whether a document is to be looked at.
const pollEvery = 30 * time.Second

// watched is what is known of a document that is looked at now and then.
type watched struct {
	last time.Time

	// The document that was told of and waits for a person: how its address names
	// it, and what it is.
	etag, digest string
}

// poll looks, now and then, whether documents have changed, for servers that want
// it.
func (s *Registry) poll() {
	all := map[serverKey]*watched{}
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
			for _, row := range s.due(now, all) {
				ctx, cancel := context.WithTimeout(s.ending, 2*documentTime)
				s.look(ctx, row, all[serverKey{row.Tenant, row.ID}])
				cancel()
			}
		}
	}
}

// due are the servers whose documents have not been looked at for as long as they
// say.
func (s *Registry) due(now time.Time, all map[serverKey]*watched) (rows []junctor.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range all {
		if s.made[key] == nil {
			delete(all, key)
		}
	}
	for key, g := range s.made {
		row := g.served()
		every := time.Duration(row.API.PollMinutes) * time.Minute
		switch w := all[key]; {
		case every == 0:
			delete(all, key)
		case w == nil:
			all[key] = &watched{last: now} // it was read when it was added, or may be now and then
		case now.Sub(w.last) >= every:
			w.last = now
			rows = append(rows, row)
		}
	}
	return rows
}

// look reads the document of a server again where it has changed. What may make
// callers fail waits for a person, who is told of it once.
func (s *Registry) look(ctx context.Context, row junctor.Server, w *watched) {
	admitted, err := s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID) // as it is now
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
		log.Warn("the document of a server could not be read again", telemetry.Err(err))
	case got.same:
	case out.Applied:
		w.etag, w.digest = "", ""
		if len(out.Changes) > 0 {
			log.Info("the document of a server changed, and so did its tools", slog.Int("changes", len(out.Changes)))
		}
	default:
		told := w.digest
		if w.etag, w.digest = got.etag, digest(got.text); w.digest != told {
			log.Warn("the document of a server changed in a way that breaks callers: look at it with junctor server reimport", slog.Int("changes", len(out.Changes)))
		}
	}
}
