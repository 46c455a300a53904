// Package agui implements the parts of AG-UI 1.0 that Junctor uses. AG-UI is the
// protocol in which chat clients follow what agents do. Event and Stream are what
// goes out, Input is what comes in.
//
// The package knows nothing of rooms: room turns a run into events, admin reads
// requests and sends the events over HTTP.
//
// Read event.go first, then stream.go, which keeps events in a valid order, then
// input.go.
package agui
