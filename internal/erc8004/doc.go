// Package erc8004 follows the agent registries of ERC-8004 on an EVM chain: it
// reads their events of every version, outlives reorganisations, finds the MCP
// endpoint that an agent's registration names, and proves the files that events
// point to. It decides nothing about delivery: what is final goes to its
// Ledger, which app builds over the store, and from there as an event like any
// other to event and worker. Nothing that a chain says is run or reached by
// itself: a registration's commands are shown and refused, and every fetch goes
// through a client of egress; ipfs proves what gateways hand over.
package erc8004
