// Package wire reads and writes JSON-RPC and MCP as bytes: envelopes, versions, methods,
// headers, event streams and error codes of both protocol eras. Package gateway uses it
// for clients; upstream and the other backends use it for servers. It imports nothing of
// ours.
//
// It has no policy and no state. A message is scanned once, strictly, and the fields that
// the scan found point into the scanned bytes. Those same bytes are sent on. So no server
// behind us can read a message differently than we did: keys match by case, after
// unescaping, and a key that occurs twice in an object is refused at every depth.
//
// "Legacy" means the protocol versions with initialize and sessions, up to 2025-11-25.
// "Modern" means the stateless versions from 2026-07-28 on.
//
// Read message.go and message_params.go first; scanner.go, object_keys.go and
// json_string.go are below them. json.go, skip.go, edit.go and decoder.go read and change
// JSON that was checked before. header.go and param_header.go compare headers with
// bodies. sse.go and line_reader.go are the two streams. version.go, method.go, error.go
// and level.go hold the constants of the protocol.
package wire
