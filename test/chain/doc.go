// Package chain holds what is read of chains to a real one: anvil, an EVM that
// runs here, with registries that emit every version of every event, files that
// an implementation of IPFS other than ours has encoded, and agents that are MCP
// servers of the official SDK.
package chain
