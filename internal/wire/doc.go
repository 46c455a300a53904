// Package wire is JSON-RPC and MCP as bytes: envelopes, versions, methods,
// headers, event streams and error codes of both protocol eras. It stands at
// both ends of the data path: gateway reads and writes clients with it, and
// the backends that speak to other servers do the same on the far side.
//
// It has no policy and no state. A message is scanned once, strictly, and what
// the scan found points into the bytes that were judged; those same bytes are
// sent on, so nobody behind us can read a message differently than we did:
// keys match by case, after unescaping, and a key that occurs twice in an
// object is refused at every depth.
package wire
