package app

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
)

// openSeries starts to add the calls of the journal to the sums over time.
func (a *App) openSeries() (err error) {
	if a.opts.unrecorded || a.opts.uncounted {
		return nil
	}
	a.series, err = series.NewRecorder(series.Options{
		DB: a.store.Database(), Journal: a.journal, Replica: a.replica, Logger: a.log, Now: a.clock.Now, OnStored: a.noteNumbers,
	})
	if err != nil {
		return err
	}
	a.onClose(a.series.Close)
	return nil
}

// noteNumbers tells the streams of admins that the numbers over time of tenants have changed.
func (a *App) noteNumbers(tenants map[junctor.TenantID]bool) {
	for tenant := range tenants {
		a.listFeed.NoteForAdmins(tenant, "metrics")
	}
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
		a.metrics.AddCollector(a.collectRecentDurations),
	)
}

// recentDurationsTimeout is how long a scrape of the metrics waits for recent durations.
const recentDurationsTimeout = 5 * time.Second

// collectRecentDurations sets the percentiles of the last minutes, which are those of the
// numbers over time: a histogram could only estimate them. It sets none if there were no
// calls, or if the database does not answer, which other metrics report.
func (a *App) collectRecentDurations(set func(name, help, label, value string, number float64)) {
	ctx, cancel := context.WithTimeout(context.Background(), recentDurationsTimeout)
	defer cancel()
	recent, err := series.ReadRecent(ctx, a.store.Database(), a.clock.Now())
	if err != nil || recent.Calls == recent.Refused() {
		return
	}
	for quantile, us := range map[string]int64{"0.5": recent.P50, "0.95": recent.P95, "0.99": recent.P99} {
		set("junctor_call_duration_seconds", "Percentiles of the duration of calls in the last 5 minutes, of all replicas, in seconds.", "quantile", quantile, float64(us)/1e6)
	}
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

// ownCallsTimeout is how long a reader waits for the calls of this replica. After an upgrade,
// it may take minutes to add up those of the whole journal.
const ownCallsTimeout = 5 * time.Second

// storeOwnCalls stores the sums of the calls of this replica.
func (s seriesAPI) storeOwnCalls(ctx context.Context) {
	if s.recorder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ownCallsTimeout)
	defer cancel()
	_ = s.recorder.Flush(ctx) // usually the sums are complete up to a few seconds ago even if it fails
}
