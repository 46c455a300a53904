// Package autoview gives an App view to tools that have no App of their own. Its page
// draws any answer as a table, a record, a chart or a map, with a form for the next call.
// The page itself (page/choose.js) chooses the form from schemas and data; no model takes
// part.
//
// It stands between the backends and the catalog: app wraps the backend of a server whose
// row allows views with With. catalog, gateway and apps treat the page as any other ui://
// resource of that server.
//
// Read backend.go (which tools get the page) first, then page.go (how the page is built
// from its files).
package autoview
