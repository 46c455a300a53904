// Package erc8004 follows the agent registries of ERC-8004 on EVM chains. It
// reads their events of every contract version, survives reorganisations,
// discovers the MCP endpoint that an agent's registration names, and verifies
// the files that events refer to.
//
// It decides nothing about delivery. Events that are final go to the Ledger,
// which Records implements over the store. Records raises each one as an event
// for packages intake, event and worker. app wires everything; admin shows the
// status.
//
// Data from a chain never makes Junctor run or reach anything by itself. The
// commands of a registration are shown and refused. Every fetch goes through a
// client of egress, and package ipfs verifies what gateways return.
//
// Read the files in this order: abi.go and event.go (logs), node.go (JSON-RPC),
// watcher.go and head.go (following a chain), records.go (the database),
// event_data.go, then registration.go, file.go and resolver.go (discovery).
package erc8004
