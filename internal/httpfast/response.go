package httpfast

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// errAborted is the error of an exchange that Abort has ended.
var errAborted = &junctor.Error{Code: junctor.CodeCanceled, Message: "the exchange was broken off"}

// Response is the response to one Client.Post. Its zero value is ready for use, once.
// One goroutine uses it; only Abort may be called by others. The caller must Close or
// Release it after a Post without error.
type Response struct {
	Status int
	Length int64 // of the body; -1: not known

	client *Client
	ctx    context.Context

	mu               sync.Mutex
	stopContextWatch func() bool // nil: ctx is not watched
	conn             *clientConn // nil before and after the exchange
	cancelDial       context.CancelFunc
	aborted          bool
}

// Get returns the first value of a header field, or "" if there is none. After Close
// it always returns "".
func (r *Response) Get(name string) string {
	if r.conn == nil {
		return ""
	}
	v := findField(r.conn.reader.fieldLines(), name)
	if string(v) == "application/json" { // by far the most frequent: no allocation
		return "application/json"
	}
	return string(v)
}

// Read reads the body. Its errors have the codes of TransportOptions.Classify.
func (r *Response) Read(p []byte) (int, error) {
	if r.conn == nil {
		return 0, errAborted
	}
	n, err := r.conn.reader.readBody(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, r.client.transport.options.Classify(r.ctx, r.client.url.Host, err)
}

// Close ends the exchange. The connection goes back to the pool if the response was
// read to its end; otherwise it is closed.
func (r *Response) Close() error {
	r.endExchange(false)
	return nil
}

// Release is Close for a response that is not read to its end and should end by itself
// soon, such as an event stream after its last event. Nobody waits for that end: the
// connection goes back to the pool, and is used again once the rest has arrived.
func (r *Response) Release() { r.endExchange(true) }

func (r *Response) endExchange(release bool) {
	if r.conn == nil {
		return
	}
	r.conn.finishWriting()
	c, aborted := r.detachConn()
	if aborted || c.isUnusable || c.reader.willClose || !c.isReusable(release) {
		r.client.pool.closeConn(c)
		return
	}
	r.client.pool.putIdle(c)
}

// closeFailed closes the connection of an exchange that failed before its response.
func (r *Response) closeFailed() {
	if c, _ := r.detachConn(); c != nil {
		_ = c.Close() // first: finishWriting waits for its writer
		c.finishWriting()
		r.client.pool.countClosed()
	}
}

// detachConn ends the exchange's use of its connection, if it has one. After it, Abort
// and the end of the context no longer touch the connection.
func (r *Response) detachConn() (c *clientConn, aborted bool) {
	r.mu.Lock()
	c, aborted = r.conn, r.aborted
	stop := r.stopContextWatch
	r.conn, r.stopContextWatch = nil, nil
	r.mu.Unlock()
	if c != nil {
		c.cancelContextWatch()
	}
	if stop != nil {
		stop()
	}
	return c, aborted
}

// watchContext makes the exchange abort when its context ends.
func (r *Response) watchContext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil && r.stopContextWatch == nil {
		r.stopContextWatch = context.AfterFunc(r.ctx, r.Abort)
	}
}

// Abort makes Post and Read return with an error at once. It may be called at any
// time, from any goroutine, also before Post.
func (r *Response) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	if r.cancelDial != nil {
		r.cancelDial()
	}
	if r.conn != nil {
		_ = r.conn.SetDeadline(time.Unix(1, 0))
	}
}

func (r *Response) isAborted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.aborted
}

// attachConn makes the exchange use a connection. It returns false if the exchange was
// aborted before.
func (r *Response) attachConn(c *clientConn) bool {
	r.mu.Lock()
	r.conn, r.cancelDial = c, nil
	aborted := r.aborted
	r.mu.Unlock()
	c.scheduleContextWatch(r)
	return !aborted
}

// setDialCancel lets Abort cancel a dial. It returns false if the exchange was aborted
// before.
func (r *Response) setDialCancel(cancel context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancelDial = cancel
	return !r.aborted
}

// IsRedirect reports whether the response is a redirect that FollowRedirect can follow.
func (r *Response) IsRedirect() bool {
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return r.Get("Location") != ""
	}
	return false
}

// FollowRedirect follows the redirect with the http.Client that the Client was made
// with, under its rules for redirects, and ends this exchange. header and body are
// those of the request. The caller closes the body of the returned response.
func (r *Response) FollowRedirect(ctx context.Context, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.client.url.String(), bytes.NewReader(body))
	if err != nil {
		r.endExchange(false)
		return nil, junctor.Errorf(junctor.CodeInternal, "a request could not be made: %w", err)
	}
	req.Header = header
	redirect := &http.Response{
		Status: http.StatusText(r.Status), StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Location": {r.Get("Location")}}, Body: http.NoBody, Request: req,
	}
	r.endExchange(true)
	client := *r.client.redirectClient
	client.Transport = &knownResponseTransport{next: client.Transport, first: redirect}
	return client.Do(req)
}

// knownResponseTransport is a transport that has the first response already. It lets
// an http.Client follow a redirect whose request it did not send.
type knownResponseTransport struct {
	next  http.RoundTripper
	first *http.Response
}

// RoundTrip implements http.RoundTripper.
func (a *knownResponseTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if first := a.first; first != nil {
		a.first = nil
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return first, nil
	}
	return a.next.RoundTrip(req)
}
