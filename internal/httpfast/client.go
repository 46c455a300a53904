package httpfast

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
)

// Client sends POST requests to one plain-HTTP URL. The goroutine that calls Post
// writes the request and reads the response itself, without the goroutines and header
// maps of an http.Transport. All clients of one Transport to the same address share
// their connections. A Client may be used by many goroutines at once.
type Client struct {
	redirectClient *http.Client // follows redirects, under its own rules
	transport      *Transport
	pool           *connPool
	url            *url.URL
	requestLine    []byte // the request line and Host
}

// isPlainASCII reports whether a part of a URL can be sent as it is.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}

// CommonHeader is the rendered part of a request's head that all requests of a caller
// share. It belongs to the Client that rendered it.
type CommonHeader struct{ text []byte }

// HeaderField is a header field that one request has beside the common ones.
type HeaderField struct{ Name, Value string }

// RenderHeader renders the header fields that requests have in common. It leaves out
// the fields about the connection and the framing, which are the client's own to set.
// A name or value that would become another field is CodeInvalid.
func (c *Client) RenderHeader(h http.Header) (*CommonHeader, error) {
	text := bytes.Clone(c.requestLine)
	for name, values := range h {
		if isConnectionField(name) {
			continue
		}
		for _, v := range values {
			f := HeaderField{name, v}
			if err := f.validate(); err != nil {
				return nil, err
			}
			text = f.appendLine(text)
		}
	}
	return &CommonHeader{text: text}, nil
}

// isConnectionField reports whether a header field is about the connection, the
// framing or the compression of the response, which no caller sets.
func isConnectionField(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Upgrade", "Expect", "Proxy-Connection", "Accept-Encoding":
		return true
	}
	return false
}

// validate refuses a field that could end its line and begin another (header
// injection).
func (f HeaderField) validate() error {
	valid := f.Name != ""
	for i := range len(f.Name) {
		valid = valid && isTokenByte(f.Name[i])
	}
	for i := range len(f.Value) {
		c := f.Value[i]
		valid = valid && (c >= ' ' && c != 0x7f || c == '\t')
	}
	if !valid {
		return junctor.Errorf(junctor.CodeInvalid, "the header %q cannot be sent: its name or value has characters that are not allowed there", f.Name)
	}
	return nil
}

func (f HeaderField) appendLine(dst []byte) []byte {
	dst = append(append(dst, f.Name...), ": "...)
	return append(append(dst, f.Value...), crlf...)
}

// Post sends a request and reads the head of the response into r, which must be new.
// The body of the request is the concatenation of parts, which must not change before
// r is closed. After an error r needs no Close.
//
// Post returns at once when r.Abort is called or ctx ends, except that a cancellation
// within the first 20 ms is noticed only after them (contextWatchDelay). Errors have
// the codes of TransportOptions.Classify. CodeUnreachable means, and only it means,
// that nothing of the request was sent. A request of which anything was sent is never
// sent again: the caller decides whether the call may be repeated.
func (c *Client) Post(ctx context.Context, r *Response, h *CommonHeader, fields []HeaderField, parts ...[]byte) error {
	for _, f := range fields {
		if err := f.validate(); err != nil {
			return err
		}
	}
	r.client, r.ctx = c, ctx
	err := ctx.Err()
	if err == nil {
		err = c.sendAndReadHead(ctx, r, outgoingRequest{h, fields, parts})
	}
	if err == nil {
		return nil
	}
	r.closeFailed()
	return c.transport.options.Classify(ctx, c.url.Host, err)
}

// outgoingRequest is what Post sends.
type outgoingRequest struct {
	header *CommonHeader
	fields []HeaderField
	parts  [][]byte
}

func (q *outgoingRequest) appendHead(dst []byte) []byte {
	size := 0
	for _, p := range q.parts {
		size += len(p)
	}
	dst = append(dst, q.header.text...)
	for _, f := range q.fields {
		dst = f.appendLine(dst)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	return append(dst, crlf+crlf...)
}

// sendAndReadHead sends the request on an idle connection or on a new one, and reads
// the head of the response. It tries the next connection only while nothing was sent.
func (c *Client) sendAndReadHead(ctx context.Context, r *Response, q outgoingRequest) error {
	for {
		conn, reused := c.pool.takeIdle(), true
		if conn == nil {
			reused = false
			var err error
			if conn, err = c.dialConn(ctx, r); err != nil {
				return err
			}
		}
		if !r.attachConn(conn) {
			return errAborted
		}
		conn.reader.reset()
		err := conn.sendRequest(&q, reused)
		if err != nil && !conn.hasSent {
			r.closeFailed()
			if reused && !r.isAborted() {
				continue // the server had closed it, and has nothing of this request
			}
			return wrapUnsentError(ctx, c.url.Host, err)
		}
		// A server that responds early may close before it has read all.
		conn.isUnusable = err != nil
		headErr := conn.reader.readHead()
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotFirstResponseByte != nil && conn.reader.w > 0 {
			trace.GotFirstResponseByte()
		}
		if headErr != nil {
			if reused {
				// A restart of the server, or of something on the way, has cut the other
				// idle connections too, and none of them shows it before it is used.
				c.pool.closeIdleConns()
			}
			return codeHeadError(c.url.Host, headErr)
		}
		r.Status, r.Length = conn.reader.status, conn.reader.length
		return nil
	}
}

// dialConn opens a connection, unless the exchange is aborted meanwhile.
func (c *Client) dialConn(ctx context.Context, r *Response) (*clientConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !r.setDialCancel(cancel) {
		return nil, errAborted
	}
	return c.pool.openConn(ctx)
}

// wrapUnsentError wraps an error with the code that tells the caller that
// nothing was sent, so that the request may be repeated. If ctx has ended, that
// is the reason, and Classify gives its code.
func wrapUnsentError(ctx context.Context, host string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &junctor.Error{Code: junctor.CodeUnreachable, Message: "the connection to " + host + " was closed before anything was sent", Cause: err}
}
