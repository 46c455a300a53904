// Package httpfast is a fast path for the one kind of HTTP exchange that tool
// calls are made of: a POST of known length over plain HTTP/1.1. It has a server
// side and a client side, and net/http does everything else.
//
// The server side (Server) reads requests on the public plain-HTTP listener. A
// request that is plain in every respect is parsed here and goes to the same
// http.Handler that net/http would call. At the first request that is not plain,
// the connection goes over to net/http with all bytes of that request, and stays
// there. The client side (Client) sends POST requests to one URL over pooled
// connections, without the goroutines and header maps of an http.Transport. A
// response that two parsers could read differently is an error, and its
// connection is closed.
//
// The rule for both sides: everything that is accepted here, net/http reads in
// the same way (FuzzRequest, FuzzFraming, FuzzConversation and FuzzResponse
// hold it). The setting http-fast-path=off leaves the package out of both
// paths, except for the framing check: it never interprets a request, it only
// refuses those with an ambiguous length (NewFramingListener).
//
// Neighbours: app puts a Server on the public address and hands TLS and the
// operator's socket to the framing check. egress gives a Transport its dial
// function, so egress alone dials and judges addresses; upstream calls a Client
// that egress.FastClient made. The package imports none of them.
//
// Reading order: syntax.go; then for the server request_head.go, server_conn.go,
// response_writer.go, request_body.go, server.go, conn_watcher.go and framing.go;
// for the client response_head.go, response_reader.go, client_conn.go, client.go,
// response.go and transport.go.
package httpfast
