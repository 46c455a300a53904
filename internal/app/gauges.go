package app

import "errors"

// gauges registers the metrics that alerts are based on.
func (a *App) gauges() error {
	yes := func(ok bool) float64 {
		if ok {
			return 1
		}
		return 0
	}
	return errors.Join(
		a.metrics.AddGauge("junctor_calls_in_flight", "Calls that are under way now.", func() float64 { return float64(a.guard.InFlight()) }),
		a.metrics.AddGauge("junctor_draining", "1 after the instance was told to end, while it still serves.", func() float64 { return yes(a.draining.Load()) }),
		a.metrics.AddGauge("junctor_limits_shared", "1 while limits are counted together with other replicas, through Redis.", func() float64 { return yes(a.pool.IsShared()) }),
		a.metrics.AddGauge("junctor_replica_proofs_failed", "Connections to the addresses of other replicas, since the start, on which nobody proved to be that replica.",
			func() float64 { return float64(a.replicas.UnprovedConnections()) }),
		a.metrics.AddGauge("junctor_sessions", "Legacy sessions that are in memory.", func() float64 { return float64(a.gateway.SessionCount()) }),
		a.metrics.AddGauge("junctor_journal_ok", "1 while calls can be recorded; while it is 0 they are refused.",
			func() float64 { return yes(a.journal.State().OK) }),
		a.metrics.AddGauge("junctor_journal_degraded", "1 when the journal is written but something about it is wrong: see junctor audit verify.",
			func() float64 { return yes(a.journal.State().Degraded) }),
		a.metrics.AddGauge("junctor_journal_records", "Number of the newest record of this replica.", func() float64 { return float64(a.journal.State().Seq) }),
		a.metrics.AddGauge("junctor_journal_lag_records", "Records that the copy in the database does not have yet.",
			func() float64 { return float64(a.journal.State().Lag) }),
		a.metrics.AddGauge("junctor_file_ok", "1 while what the settings file declares is in force, and without one; 0 when a change of it was refused, or a part of it.",
			func() float64 { return yes(a.file.State().OK) }),
		a.metrics.AddGauge("junctor_file_loads", "How often the settings file was put into force since the start.", func() float64 { return float64(a.file.State().Loads) }),
		a.metrics.AddGauge("junctor_history_dropped_records", "Calls whose parameters and result were not kept since the start.",
			func() float64 { return float64(a.history.Dropped()) }),
		a.metrics.AddGauge("junctor_dialled_connections", "Connections to servers and APIs that were begun since the start.",
			func() float64 { return float64(a.egress.Dials()) }),
		a.metrics.AddGauge("junctor_rendered_lists", "Lists that were put together since the start: one for each set of permissions and change.",
			func() float64 { return float64(a.catalog.Renders()) }),
		a.metrics.AddCollector(a.chains.CollectGauges),
		a.metrics.AddCollector(a.events.QueueGauges()),
	)
}
