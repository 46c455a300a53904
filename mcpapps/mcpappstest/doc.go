// Package mcpappstest tries a server's Apps without a browser. [Connect] makes
// a host: a client that shows Views, with the rules of a host. [Host.Open]
// calls a tool, reads its page and opens a [View], whose methods are what the
// page's script would do; the test plays the page.
//
//	host := mcpappstest.Connect(t, server, mcpappstest.Options{})
//	view := host.Open("sales", map[string]any{"year": 2026})
//	view.Initialize()
//	next := view.Call("sales_orders", map[string]any{"page": 2})
//
// Every message is JSON in the shape and direction that package mcpapps knows,
// and is kept in [View.Log]. Nothing runs beside the test: what the host has to
// say lies ready when a method returns.
package mcpappstest
