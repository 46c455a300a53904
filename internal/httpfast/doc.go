// Package httpfast stands before net/http on a plain TCP listener and serves the
// one kind of request that calls are made of, a POST of known length, at a
// fraction of the cost. The handler is the very one that net/http would call.
//
// Whatever is not plain in every respect is not interpreted here: the connection
// goes over to net/http with all bytes of that request, and stays there. So there
// is one reader for what is unusual, and it is not ours. What counts as plain is
// said in head.go; app puts a Server on its public address.
package httpfast
