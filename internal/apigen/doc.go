// Package apigen makes an API's documentation a server like any other: a backend
// of internal/catalog whose tools send HTTP requests, beside internal/upstream
// and internal/builtin. apigen/doc, apigen/graphql and apigen/rest read
// documents, apigen/tool makes tools and plans of them, apigen/call sends; here
// they are joined, and what does not fit into an answer is kept for a while as a
// resource.
//
// It runs inside the process, since nothing in it is foreign code: a document is
// data, and so is a plan. What a call holds belongs to its own server. app gives
// it the client of internal/egress and the credentials.
package apigen
