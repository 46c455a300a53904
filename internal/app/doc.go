// Package app turns a checked config.Config into a running instance. It
// constructs the parts and connects them: the store, the journal, guard, the
// servers, agents, events and rooms, and the endpoints of gateway and admin.
// It has no use cases of its own. cli starts it; nothing else knows all the
// parts. Read app.go first (New and the order in
// which parts are opened), then serve.go (listeners, Run), routes.go (what is
// served where) and drain.go (shutdown).
package app
