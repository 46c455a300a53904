package app

import "errors"

// gauges shows in the metrics what an operator wants to be woken for.
func (a *App) gauges() error {
	yes := func(ok bool) float64 {
		if ok {
			return 1
		}
		return 0
	}
	return errors.Join(
		a.metrics.Gauge("junctor_calls_in_flight", "Calls that are under way now.", func() float64 { return float64(a.guard.InFlight()) }),
		a.metrics.Gauge("junctor_draining", "1 after the instance was told to end, while it still serves.", func() float64 { return yes(a.draining.Load()) }),
		a.metrics.Gauge("junctor_limits_shared", "1 while limits are counted together with other replicas, through Redis.", func() float64 { return yes(a.pool.shared()) }),
		a.metrics.Gauge("junctor_replica_proofs_failed", "Connections to the addresses of other replicas, since the start, on which nobody proved to be that replica.",
			func() float64 { return float64(a.peers.unprovedConnections()) }),
		a.metrics.Gauge("junctor_sessions", "Legacy sessions that are in memory.", func() float64 { return float64(a.gateway.Sessions()) }),
		a.metrics.Gauge("junctor_journal_ok", "1 while calls can be recorded; while it is 0 they are refused.",
			func() float64 { return yes(a.journal.State().OK) }),
		a.metrics.Gauge("junctor_journal_degraded", "1 when the journal is written but something about it is wrong: see junctor audit verify.",
			func() float64 { return yes(a.journal.State().Degraded) }),
		a.metrics.Gauge("junctor_journal_records", "Number of the newest record of this node.", func() float64 { return float64(a.journal.State().Seq) }),
		a.metrics.Gauge("junctor_journal_lag_records", "Records that the copy in the database does not have yet.",
			func() float64 { return float64(a.journal.State().Lag) }),
		a.metrics.Gauge("junctor_file_ok", "1 while what the settings file declares is in force, and without one; 0 when a change of it was refused, or a part of it.",
			func() float64 { return yes(a.file.State().OK) }),
		a.metrics.Gauge("junctor_file_loads", "How often the settings file was put into force since the start.", func() float64 { return float64(a.file.State().Loads) }),
		a.metrics.Gauge("junctor_history_dropped_records", "Calls whose parameters and result were not kept since the start.",
			func() float64 { return float64(a.history.Dropped()) }),
		a.metrics.Gauge("junctor_dialled_connections", "Connections to servers and APIs that were begun since the start.",
			func() float64 { return float64(a.egress.Dials()) }),
		a.metrics.Gauge("junctor_rendered_lists", "Lists that were put together since the start: one for each set of permissions and change.",
			func() float64 { return float64(a.catalog.Renders()) }),
	)
}
