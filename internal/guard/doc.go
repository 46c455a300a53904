// Package guard is the one pipeline that every call passes, whatever its entry point:
//
//   - resolve the name, and hide it if the principal may not see it
//   - check the scope and count the call against limits
//   - check the arguments
//   - record the attempt; a call that cannot be recorded is not made
//   - dispatch it to the backend
//   - shape the result
//   - record the end and count it
//
// Entry points (gateway, admin, agents, deliveries, Apps) pass an Op with the principal
// that package identity authenticated. Names are resolved in package catalog, which also
// returns the backend. No other package calls a backend. Limits, the journal, sealing and
// counters come in as the small interfaces of op.go, which packages limit, audit, seal and telemetry implement.
//
// Read op.go and guard.go first, then record.go. request_state.go continues calls that
// ask their client for input; task.go maps the tasks of servers to our own ids.
// call_limits.go has the limits of time of calls, and the errors of calls that they end.
// trace.go makes spans; ungated.go is for benchmarks; end_log.go and hash_pool.go are
// helpers.
package guard
