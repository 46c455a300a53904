// Package a2a lets agents of other parties talk to ours. It serves the Agent2Agent
// protocol, versions 1.0 and 0.3, for each published agent.
//
// A request passes three layers. http.go authenticates the caller and parses the
// request strictly. The transports of the a2a-go library decode either version.
// requestHandler, which implements the library's interface, keeps tasks in the
// store and lets package agent work on them. Every tool call of an agent passes
// guard. app joins the parts.
//
// Read the files in this order: server.go (options and lifetime), http.go and
// member_names.go (requests), errors.go, request_handler.go (the methods of the
// protocol), run_task.go and live_task.go (work on a task), message.go,
// result_artifacts.go and surfaces.go (content in and out), push.go, card.go and
// heartbeat.go.
package a2a
