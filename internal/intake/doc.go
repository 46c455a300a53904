// Package intake receives events: signed messages at /hooks/{source}, events
// sent through the admin API and by agents' calls of events__send, schedules,
// and jobs read from a Redis. It is the first step of an event:
//
//	intake -> event (which triggers match) -> queue (durable) -> worker -> guard
//
// An event is stored in one transaction with the deliveries that it leads to,
// before its sender gets an answer. A repetition with the same dedupe key is
// stored once.
//
// app registers the routes, runs Run and provides the transaction
// (Options.Write); admin manages sources, schedules and triggers through this
// package; store holds the rows.
//
// Cron expressions are parsed here: the five fields take one page of code.
// Libraries bring a scheduler that keeps its state in memory, while a schedule
// here is a row that survives a restart.
//
// Read the files in this order: intake.go (storing an event), hooks.go and
// signature.go (signed messages), github.go, source.go, schedule.go and
// cron.go, batch.go, then redis_reader.go, redis_jobs.go and job.go.
package intake
