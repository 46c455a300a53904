// Package upstream is the backend for MCP servers that others run: behind a URL,
// of either protocol era, or as a child process. In the data path it stands
// behind catalog, whose Backend it implements: guard lets an operation through,
// Server splices the server's own names into its params and sends it over a
// link, and what comes back is handed on as the bytes that came.
//
// Inside Junctor only the modern form of the protocol exists, so legacy servers
// are made modern here: a running call whose server asks its client something is
// parked, answered with input_required, and goes on when the answers arrive.
//
// Links are of three kinds: HTTP of both eras (http*.go), HTTP+SSE of 2024-11-05
// (sse*.go) and the stdio of a child (stdio*.go, by way of proc). HTTP clients
// come from egress, credentials from app.
package upstream
