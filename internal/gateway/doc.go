// Package gateway serves the endpoints that MCP clients use:
//
//   - /mcp, /mcp/s/{server} and /mcp/a/{agent}: Streamable HTTP of both eras on one path
//   - /sse and /messages: HTTP+SSE of 2024-11-05
//   - /mcp/request and /mcp/tools: plain JSON-RPC without sessions
//   - /mcp/call: one tool call as plain JSON (the bridge)
//   - stdio
//
// It is the only package that knows the legacy protocol. Sessions, streams that can be
// resumed, and requests to the client live here; the packages behind it see modern
// requests only.
//
// A request comes in as bytes. Package wire scans it once, identity authenticates its
// principal, and the exchange becomes a guard.Op that guard runs through the pipeline.
// Lists come from catalog, already rendered. If a call asks for input, a modern client
// receives that as its result. A legacy client receives requests instead, and its
// responses are passed to guard in another round. Package app makes the Gateway.
//
// Read gateway.go and exchange.go first. The entry points are streamable_http.go,
// plain.go, bridge.go, sse.go and stdio.go; authenticate.go and request_body.go are their
// common beginning, post_response.go and client_error.go their common end. modern.go and
// listen.go are the modern era. legacy.go, legacy_request.go, call_stream.go,
// input_request.go, session.go, session_table.go, stream.go and events.go are the legacy
// one. duplex_conn.go and duplex_receive.go serve clients with one connection for both
// directions. replicas.go and replay.go deal with several replicas. edge_middleware.go,
// body_budget.go, certificate.go and proxies.go stand before all handlers of a listener;
// stdio_relay.go joins a second process to the instance.
package gateway
