// Package autoview gives tools that have no App of their own one for free: a page
// that draws whatever they answer as a table, a record, a chart or a map, with a
// form for the next call. Which of them is chosen from schemas and data alone, by
// the page itself (page/choose.js); no model has a part in it.
//
// It stands between the backends and the catalog: app puts a With around a server
// whose row wants Views, and catalog, gateway and apps treat the page as any
// other ui:// resource of that server.
package autoview
