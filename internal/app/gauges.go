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
		a.metrics.AddGauge("junctor_calls_in_flight", "Calls that are running.", func() float64 { return float64(a.guard.InFlight()) }),
		a.metrics.AddGauge("junctor_draining", "1 while the instance shuts down and still serves, otherwise 0.", func() float64 { return yes(a.draining.Load()) }),
		a.metrics.AddGauge("junctor_limits_shared", "1 while the replicas count limits together in Redis, otherwise 0.", func() float64 { return yes(a.pool.IsShared()) }),
		a.metrics.AddGauge("junctor_replica_proofs_failed", "Connections to other replicas since the start that failed the proof of identity.",
			func() float64 { return float64(a.replicas.UnprovedConnections()) }),
		a.metrics.AddGauge("junctor_sessions", "Sessions of legacy MCP clients in memory.", func() float64 { return float64(a.gateway.SessionCount()) }),
		a.metrics.AddGauge("junctor_journal_ok", "1 while calls can be recorded in the journal. While it is 0, calls are refused.",
			func() float64 { return yes(a.journal.State().OK) }),
		a.metrics.AddGauge("junctor_journal_degraded", "1 if the journal is written but has a fault that junctor audit verify shows, otherwise 0.",
			func() float64 { return yes(a.journal.State().Degraded) }),
		a.metrics.AddGauge("junctor_journal_records", "Sequence number of the newest journal record of this replica.", func() float64 { return float64(a.journal.State().Seq) }),
		a.metrics.AddGauge("junctor_journal_lag_records", "Journal records that are not copied to the database yet.",
			func() float64 { return float64(a.journal.State().Lag) }),
		a.metrics.AddGauge("junctor_file_ok", "0 if the settings file, or a part of it, was not applied, otherwise 1. It is 1 without a settings file.",
			func() float64 { return yes(a.file.State().OK) }),
		a.metrics.AddGauge("junctor_file_loads", "Times that the settings file was applied since the start.", func() float64 { return float64(a.file.State().Loads) }),
		a.metrics.AddGauge("junctor_history_dropped_records", "Calls since the start whose parameters and result were not stored in the call history.",
			func() float64 { return float64(a.history.Dropped()) }),
		a.metrics.AddGauge("junctor_dialled_connections", "Connections to servers and APIs that were opened since the start.",
			func() float64 { return float64(a.egress.Dials()) }),
		a.metrics.AddGauge("junctor_rendered_lists", "Tool, prompt and resource lists that were rendered since the start: one for each set of permissions and change.",
			func() float64 { return float64(a.catalog.Renders()) }),
		a.addSeriesGauges(),
		a.metrics.AddCollector(a.chains.CollectGauges),
		a.metrics.AddCollector(a.attention.CollectGauges),
		a.metrics.AddCollector(a.events.QueueGauges()),
	)
}
