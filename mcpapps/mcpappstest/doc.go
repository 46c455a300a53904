// Package mcpappstest tests a server's Apps without a browser. [Connect] creates a
// host: a client that shows Views and follows the rules of a host. [Host.OpenView]
// calls a tool, reads its page and opens a [View], whose methods are what the
// page's script would do; the test plays the page.
//
//	host := mcpappstest.Connect(t, server, mcpappstest.Options{})
//	view := host.Open("sales", map[string]any{"year": 2026})
//	view.Initialize()
//	next := view.Call("sales_orders", map[string]any{"page": 2})
//
// Every message is JSON in the form and direction that package mcpapps defines, and
// is kept in [View.Log]. Nothing runs concurrently with the test: notifications of
// the host are available as soon as a method returns.
//
// Read host.go first, then view.go (the page's side) and messages.go (the host's
// side).
package mcpappstest
