// Package telemetry provides the log, the metrics and the traces of an instance.
// internal/app creates the three and passes them to internal/gateway,
// internal/guard, internal/worker and others. They count each call through a
// Route, which is resolved once per tool. Nothing here is global.
//
// The files can be read in any order: log.go and keys.go (logging), panic.go,
// metrics.go and route.go (metrics), trace.go (tracing).
package telemetry
