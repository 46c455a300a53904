// Package intake is where events come in: messages at /hooks/{source}, which are
// signed, what is sent by the admin API and by agents' calls of events__send,
// schedules, and jobs that are taken from a Redis. It stands first on an event's
// way:
//
//	intake -> event (which triggers are for it) -> queue (durable) -> worker -> guard
//
// Whatever comes in is stored together with the deliveries that it leads to, in
// one transaction, before its sender hears that it was taken; what comes again
// under the same key is taken once.
//
// Schedules are read by a small parser of its own: the five fields of cron are a
// page of code, and the libraries for it bring a scheduler that keeps its state
// in memory, where this one's is a row that survives every end of the process.
package intake
