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

// Line is the way to one URL over connections of our own, for plain http: a
// request is written and its answer read by whoever makes it, without the
// goroutines and header maps of an http.Transport. The connections are shared
// with all other lines of the same client to the same address, and are made
// under the rules of that client, each address judged when it is dialled.
type Line struct {
	redirectClient *http.Client
	transport      *Transport
	pool           *connPool
	url            *url.URL
	requestLine    []byte // the request line and Host
}

// isPlainASCII says whether a part of a URL can be sent as it is.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}

// Head is the part of a request's head that does not change.
type Head struct{ text []byte }

// Field is a header field of one request.
type Field struct{ Name, Value string }

// Head renders the header that requests have in common. What a connection says
// about itself is not the caller's to say, and is left out.
func (l *Line) Head(h http.Header) (*Head, error) {
	text := bytes.Clone(l.requestLine)
	for name, values := range h {
		if isConnectionField(name) {
			continue
		}
		for _, v := range values {
			f := Field{name, v}
			if err := f.validate(); err != nil {
				return nil, err
			}
			text = f.appendLine(text)
		}
	}
	return &Head{text: text}, nil
}

// isConnectionField says whether a header field is for the connection, or made here.
func isConnectionField(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Upgrade", "Expect", "Proxy-Connection", "Accept-Encoding":
		return true
	}
	return false
}

// validate says whether a field can be sent without becoming another.
func (f Field) validate() error {
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

func (f Field) appendLine(dst []byte) []byte {
	dst = append(append(dst, f.Name...), ": "...)
	return append(append(dst, f.Value...), '\r', '\n')
}

// Post sends a request whose body is made of parts, which must not change
// before the reply is closed, and reads the head of the answer into r, which
// must be new. It comes back at once when r.Break is called, and when ctx ends, but
// for one that is cancelled before tieAfter has passed: that is seen then. Its
// errors are those of Egress.Client; they are CodeUnreachable, and only then, when
// nothing of the request was sent. A request of which anything was sent is never
// sent again. After an error r needs no Close.
func (l *Line) Post(ctx context.Context, r *Reply, h *Head, fields []Field, parts ...[]byte) error {
	for _, f := range fields {
		if err := f.validate(); err != nil {
			return err
		}
	}
	r.client, r.ctx = l, ctx
	err := ctx.Err()
	if err == nil {
		err = l.sendAndReadHead(ctx, r, outgoingRequest{h, fields, parts})
	}
	if err == nil {
		return nil
	}
	r.closeFailed()
	return l.transport.options.Classify(ctx, l.url.Host, err)
}

// outgoingRequest is what is sent.
type outgoingRequest struct {
	head   *Head
	fields []Field
	parts  [][]byte
}

func (q *outgoingRequest) appendHead(dst []byte) []byte {
	size := 0
	for _, p := range q.parts {
		size += len(p)
	}
	dst = append(dst, q.head.text...)
	for _, f := range q.fields {
		dst = f.appendLine(dst)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	return append(dst, "\r\n\r\n"...)
}

// sendAndReadHead sends the request on an idle connection or on a new one.
func (l *Line) sendAndReadHead(ctx context.Context, r *Reply, q outgoingRequest) error {
	for {
		c, reused := l.pool.takeIdle(), true
		if c == nil {
			reused = false
			var err error
			if c, err = l.dialConn(ctx, r); err != nil {
				return err
			}
		}
		if !r.attachConn(c) {
			return errAborted
		}
		c.reader.reset()
		err := c.sendRequest(&q, reused)
		if err != nil && !c.hasSent {
			r.closeFailed()
			if reused && !r.isAborted() {
				continue // the other side had closed it, and knows nothing of this
			}
			return wrapUnsentError(ctx, l.url.Host, err)
		}
		// A server that answers early may close before it has read all.
		c.isUnusable = err != nil
		headErr := c.reader.readHead()
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotFirstResponseByte != nil && c.reader.w > 0 {
			trace.GotFirstResponseByte()
		}
		if headErr != nil {
			if reused {
				// Whatever cut this one, a restart or something on the way, has
				// cut the others too, and none of them shows it before it is used.
				l.pool.closeIdleConns()
			}
			return codeHeadError(l.url.Host, headErr)
		}
		r.Status, r.Length = c.reader.status, c.reader.length
		return nil
	}
}

// dialConn makes a connection, unless the reply is broken meanwhile.
func (l *Line) dialConn(ctx context.Context, r *Reply) (*clientConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !r.setDialCancel(cancel) {
		return nil, errAborted
	}
	return l.pool.openConn(ctx)
}

func wrapUnsentError(ctx context.Context, host string, err error) error {
	if ctx.Err() != nil {
		return err // Classify says how the context ended
	}
	return &junctor.Error{Code: junctor.CodeUnreachable, Message: "the connection to " + host + " was closed before anything was sent", Cause: err}
}
