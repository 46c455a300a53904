package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
)

// openSeries starts to add the calls of the journal to the sums over time.
func (a *App) openSeries() (err error) {
	if a.opts.unrecorded {
		return nil
	}
	a.series, err = series.NewRecorder(series.Options{DB: a.store.Database(), Journal: a.journal, Replica: a.replica, Logger: a.log, Now: a.clock.Now})
	if err != nil {
		return err
	}
	a.onClose(a.series.Close)
	return nil
}

// seriesAPI joins series.Reader to the admin API. What this replica has counted is stored
// before it answers, so that a caller finds its own calls.
type seriesAPI struct {
	*series.Reader
	recorder *series.Recorder
}

// Read implements admin.Series.
func (s seriesAPI) Read(ctx context.Context, p *junctor.Principal, q series.Query) (series.Answer, error) {
	if s.recorder != nil {
		_ = s.recorder.Flush(ctx) // the sums are complete up to a few seconds ago even if it fails
	}
	return s.Reader.Read(ctx, p, q)
}
