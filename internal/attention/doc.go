// Package attention keeps the list of what a person should look at: servers that fail,
// deliveries that died, keys that expire, a disk that fills.
//
// A Source lists what needs attention now, from the place that knows it. A Watcher asks all
// sources every few seconds and stores the difference to what it stored before, so that an
// item keeps its ID and its time over restarts and on all replicas. In the same transaction it
// stores an event for each item that appears or is cleared, which triggers can react to. One
// replica, the leader, looks for what concerns all of them; each looks for what only it can
// see, such as its disk.
//
// A source that cannot be read is an item itself, and so is a leader that no longer looks: an
// empty list means that everything was looked at and nothing was found.
//
// internal/app makes the Watcher and its sources; internal/admin serves the list.
//
// Read watcher.go (when the sources are asked), pass.go (what is stored), list.go (what callers
// see), rows.go (the tables), and then the sources: objects.go and replica.go.
package attention
