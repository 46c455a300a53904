// Package store keeps what must outlive the process, in SQL: tenants, keys,
// servers, settings, legacy sessions, states that were used up, the ring that
// seals sessions, and the instance's own id. It stands on the ground, below
// everything that a request passes: identity reads keys from it when they
// change, gateway and guard read sessions and states, admin reads and writes
// the rest. Nothing on the path of a call waits for it unless something has to
// be kept.
//
// The queries are written once, here. A driver (store/sqlite; only app imports
// one) opens the database, brings its schema up to date and hands over a
// Dialect; storetest is the suite that every driver has to pass. Three habits
// keep the dialects close: times are integers (microseconds since 1970, UTC),
// upserts are ON CONFLICT, and placeholders are question marks until
// Dialect.Bind sees them.
//
// Every table has tenant_id, and what belongs to a tenant is reached only
// through Store.For. What belongs to the instance as a whole (the ring, the
// instance id) is kept under the default tenant.
//
// Errors are *junctor.Error: not_found, conflict, invalid, unavailable (locked,
// full, closed, not readable), timeout and canceled from the context, and
// internal. Their messages never hold a stored value other than a name or id
// that the caller gave.
package store
