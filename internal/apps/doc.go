// Package apps is the host of MCP Apps. It opens Views, which are running pages of
// tools, gives each View an origin of its own, and does what the page asks for.
//
// Its neighbours:
//
//   - admin calls Host for the API that the console opens Views with.
//   - app runs the sandbox listener with Host.ServeHTTP, and forwards requests to the
//     replica that holds a View (ReplicaOf, ViewIDOf).
//   - guard judges and records every request of a View, through Pipeline. A page can
//     do no more than the principal who opened it.
//   - mcpapps parses pages and makes their Content-Security-Policy; catalog finds the
//     tools that name them.
//
// Read the files in this order: host.go (the type and its bounds), view.go (opening and
// ending Views), tool_page.go (reading pages), placement.go and sandbox_server.go (the
// addresses and answers of the sandbox listener), view_rpc.go (requests of a page),
// view_mail.go (requests to a page), own_tools.go (tools that a page offers),
// view_log.go, and gallery.go (the list of Apps and their approvals).
package apps
