package app

import (
	"context"
	"errors"

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

// addSeriesGauges registers the metrics of the recorder, if there is one.
func (a *App) addSeriesGauges() error {
	if a.series == nil {
		return nil
	}
	return errors.Join(
		a.metrics.AddGauge("junctor_series_lag_records", "Journal records of this replica whose calls are not in the numbers over time yet.",
			func() float64 { return float64(a.series.Lag()) }),
		a.metrics.AddGauge("junctor_series_other_calls", "Calls since the start that were counted as (other), because more than 10,000 series of a tenant had calls in one minute.",
			func() float64 { return float64(a.series.OtherCalls()) }),
	)
}

// seriesAPI joins series.Reader to the admin API. What this replica has counted is stored
// before it answers, so that a caller finds its own calls.
type seriesAPI struct {
	*series.Reader
	recorder *series.Recorder
}

// Read implements admin.Series.
func (s seriesAPI) Read(ctx context.Context, p *junctor.Principal, q series.Query) (series.Answer, error) {
	s.storeOwnCalls(ctx)
	return s.Reader.Read(ctx, p, q)
}

// Usage implements admin.Series.
func (s seriesAPI) Usage(ctx context.Context, access junctor.CallAccess, f series.UsageFilter, by series.UsageGroup) ([]series.Usage, error) {
	s.storeOwnCalls(ctx)
	return s.Reader.Usage(ctx, access, f, by)
}

// storeOwnCalls stores the sums of the calls of this replica.
func (s seriesAPI) storeOwnCalls(ctx context.Context) {
	if s.recorder != nil {
		_ = s.recorder.Flush(ctx) // the sums are complete up to a few seconds ago even if it fails
	}
}
