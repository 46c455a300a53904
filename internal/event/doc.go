// Package event decides what follows from an event: which triggers are for it,
// and what their calls say. It stands between intake, which stores events, and
// the queue, which holds the calls until they are made:
//
//	intake -> event -> queue -> worker -> guard
//
// It has no state and makes no calls: a Rule is a trigger that was read and
// checked once, and gives arguments for events.
package event
