// Package upstream is the backend for MCP servers that others run: behind a URL, of
// either protocol era, or as a child process. A Server implements catalog.Backend.
//
// Its neighbours:
//
//   - guard judges an operation and calls Server.Do by way of catalog.
//   - app makes Servers from stored definitions, gives them credentials (Options.Header,
//     Options.Login) and shows their State.
//   - egress makes the HTTP clients and the direct connections (httpfast.Client); proc
//     starts the processes of commands; wire reads and writes JSON-RPC messages.
//
// # How a call runs
//
// Do resolves the access of the caller: its credentials, and with whom it may share a
// link. It takes a session from the table or opens one. It writes the params with the
// server's own names, sends them over the session's link, and returns the result as the
// bytes that came, without the members that were meant for this hop alone.
//
// Inside Junctor only the modern form of the protocol exists, so legacy servers are made
// modern here. If the server of a running call asks its client something, the call is
// parked and answered with input_required. It goes on when the answers arrive.
//
// # Terms
//
//   - link: one established connection to the server, HTTP, HTTP+SSE or stdio.
//   - session: a link and its users, as an entry of the table of a Server.
//   - era: modern servers keep no state between requests and answer server/discover;
//     legacy ones begin with initialize and may send requests to their client.
//   - message handler: the receiver of the notifications and requests of a server.
//   - listing link: the session without a caller, on which lists are read and changes
//     are heard.
//
// # Where to start reading
//
//  1. server.go, options.go: the type, its settings and its state.
//  2. do.go, params.go, capabilities.go, result.go, result_shape.go, call_error.go: one
//     call from the request to the result.
//  3. sessions.go, access.go, isolation.go, breaker.go: the table of sessions, who shares
//     them, and when a server is left alone.
//  4. link.go, link_opener.go, handshake.go: the interface of links, and how the era is
//     detected. Then http_*.go, sse_link.go and stdio_*.go with child_process.go,
//     process_pool.go and output_tail.go.
//  5. pending_calls.go, server_requests.go, call_handler.go, interactive_call.go,
//     initial_requests.go: messages in both directions, and calls that ask their client.
//  6. offer.go, conditional.go, change_watch.go, subscriptions.go, session_listener.go,
//     pacing.go: lists, and how changes of them are followed.
//  7. task.go, task_call.go, task_watch.go: tasks. elicitation.go, form.go: the checks of
//     what servers ask people for. probe.go: the probe of a new server.
package upstream
