// Package servers runs the servers of an instance: it adds, probes, attaches, changes,
// follows and removes them, and keeps the catalog's view of each one current.
//
// A row in the store says what a server is; a [Registry] joins each active row
// to the backend that runs it: package upstream for MCP servers, package apigen
// for servers made of API documents, package builtin for those inside the
// binary. The pipeline in package guard calls a backend through the catalog.
// Package admission judges every definition before it is read, run or stored,
// and package upstreamauth supplies credentials and logins. The admin API
// reaches servers through [AdminAPI], which leaves out what a caller may not
// read. Package app makes the Registry, package declare applies settings files
// to it through [ServerKind].
//
// Read servers.go first (the Registry and what callers may see), then attach.go and
// attached.go (an upstream server's life), generated.go, import.go and reimport.go (API
// documents), safe_request.go (their test), health.go, change.go (add and change), kind.go (declared servers), binary.go,
// events_server.go and remote_agents_server.go (those inside the binary),
// delivery_endpoint.go (agents' own servers), secret_api.go, and last single_replica.go, remote_backend.go and replica_request.go (a command that runs on one
// replica for all).
package servers
