package console

import "testing"

// TestUsers is the life of a user and of a key: added, changed, signed out, disabled, deleted.
func TestUsers(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "users_console.mjs", "users", r.Link(t, "ada"))
}

// TestInstance is what an operator manages beside users: keys of services, sessions, roles,
// tenants, replicas.
func TestInstance(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "users_console.mjs", "instance", r.Link(t, "ada"))
}

// TestViewerAdministration is what a viewer sees of administration: nothing but own sessions.
func TestViewerAdministration(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "users_console.mjs", "viewer", r.Link(t, "vera"))
}
