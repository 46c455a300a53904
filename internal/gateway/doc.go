// Package gateway holds the doors that MCP clients come through: /mcp and
// /mcp/s/{server} (Streamable HTTP of both eras on one path), /sse and /messages
// (HTTP+SSE of 2024-11-05), /mcp/request and /mcp/tools (plain JSON-RPC), and
// stdio. It makes legacy clients modern: sessions, streams that can be resumed,
// and questions to the client live here and nowhere further in.
//
// A request comes in as bytes, is read once by wire, gets its principal from
// identity, and becomes an Op that guard takes through the pipeline; lists come
// from catalog, rendered already. What was asked of the client in the modern
// way (input_required) is asked of a legacy client by requests, and repeated to
// guard with its answers.
package gateway
