// Package event decides what follows from an event: which triggers match it,
// and which arguments their calls get. It stands between intake, which stores
// events, and the queue, which holds the calls until they are made:
//
//	intake -> event -> queue -> worker -> guard
//
// It has no state and makes no calls. A Rule is a trigger that was parsed and
// checked once, and makes arguments for events. Its callers are intake, which
// uses rules, and admin, which checks triggers before they are stored.
//
// Read the files in this order: rule.go (triggers), matcher.go (conditions),
// path.go (places in an event), template.go (arguments).
package event
