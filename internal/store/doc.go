// Package store keeps in SQL everything that has to outlive the process: tenants, users,
// keys, servers, agents, settings, sessions, events, rooms, the ring that seals sessions,
// and the instance's own id. It is ground: it imports package junctor and admission only.
// identity reads users and keys from it when they change, gateway and guard read sessions
// and states, admin and app read and write the rest. A call waits for the store only if
// something has to be kept.
//
// The queries are written once, here. A driver (store/sqlite, store/postgres; only app
// imports them) opens the database, migrates its schema and passes a Dialect. storetest is
// the suite that every driver has to pass. Three habits keep the dialects close: times are
// integers (microseconds since 1970, UTC), upserts are ON CONFLICT, and placeholders are
// question marks until Dialect.Bind replaces them.
//
// Every table has tenant_id, and the rows of a tenant are reached only through Store.For.
// Rows of the whole instance (the ring, the instance id, replicas, leases) belong to the
// default tenant.
//
// Errors are *junctor.Error: not_found, conflict, precondition, invalid, unavailable
// (locked, full, closed, not readable), timeout and canceled from the context, and
// internal. Their messages never hold a stored value other than a name or id that the
// caller gave.
//
// Read the files in this order:
//
//   - store.go: Dialect, Store, Tenant, and the functions that run statements
//   - errors.go: how errors of a database become errors of this package
//   - versions.go: changes of rows that were read before, without losing another change
//   - named.go: the shared parts of sources, triggers and schedules
//   - migrate.go and raw.go: the schema, and whole databases for backup and restore
//
// Every other file holds the queries of one kind of row and is named after it.
package store
