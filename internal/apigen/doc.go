// Package apigen makes a server of an API's documentation: a backend of
// internal/catalog whose tools send HTTP requests, beside internal/upstream and
// internal/builtin. It joins the packages below it. apigen/doc, apigen/graphql
// and apigen/rest read documents; apigen/tool builds tools and plans;
// apigen/call sends requests. An answer that does not fit into a result is
// cached for a while as a resource.
//
// It runs inside the process, since it executes no foreign code: a document is
// data, and so is a plan. Only internal/app calls this package. It makes a
// [Server] with the client of internal/egress and the credentials, and calls
// [ImportAPI] for imports and previews.
//
// Read the files in this order:
//   - read.go and make.go: from a document to tools.
//   - filter.go, preview.go and signature.go: which tools are offered, and how
//     users see them before they save.
//   - server.go with files.go, selectionchecker.go and answercache.go: the
//     backend.
//   - compare.go, improve.go, learn.go and suggest.go: changes between imports,
//     and proposals for better tools.
//   - introspect.go: schemas of GraphQL endpoints.
package apigen
