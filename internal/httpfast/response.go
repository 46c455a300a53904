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

// errAborted is for an exchange that was broken off from elsewhere.
var errAborted = &junctor.Error{Code: junctor.CodeCanceled, Message: "the exchange was broken off"}

// Reply is the answer to one request over a Line. It is read by one goroutine;
// only Break may be called by others. A new one is made by &Reply{}.
type Reply struct {
	Status int
	Length int64 // of the body; -1 is not known

	client *Line
	ctx    context.Context

	mu               sync.Mutex
	stopContextWatch func() bool // of ctx's watch; nil is none
	conn             *clientConn // nil before and after
	cancelDial       context.CancelFunc
	aborted          bool
}

// Get gives the first value of a header field, "" for none. It knows nothing
// any more after Close.
func (r *Reply) Get(name string) string {
	if r.conn == nil {
		return ""
	}
	v := findField(r.conn.reader.fieldLines(), name)
	if string(v) == "application/json" { // by far the most frequent
		return "application/json"
	}
	return string(v)
}

// Read reads the body. Its errors are those of Egress.Client.
func (r *Reply) Read(p []byte) (int, error) {
	if r.conn == nil {
		return 0, errAborted
	}
	n, err := r.conn.reader.readBody(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, r.client.transport.options.Classify(r.ctx, r.client.url.Host, err)
}

// Close ends the exchange. The connection is used again if the answer was read
// to its end, and else closed.
func (r *Reply) Close() error {
	r.endExchange(false)
	return nil
}

// Leave is Close for an answer of which nothing more is wanted and that should
// end by itself any moment: the connection is used again once it has.
func (r *Reply) Leave() { r.endExchange(true) }

func (r *Reply) endExchange(leave bool) {
	if r.conn == nil {
		return
	}
	r.conn.finishWriting()
	c, broken := r.detachConn()
	if broken || c.isUnusable || c.reader.willClose || !c.isReusable(leave) {
		r.client.pool.closeConn(c)
		return
	}
	r.client.pool.putIdle(c)
}

// closeFailed closes the connection of an exchange that gave no answer.
func (r *Reply) closeFailed() {
	if c, _ := r.detachConn(); c != nil {
		_ = c.Close() // before its writer is waited for
		c.finishWriting()
		r.client.pool.countClosed()
	}
}

// detachConn parts the exchange from its connection, if it has one.
func (r *Reply) detachConn() (c *clientConn, broken bool) {
	r.mu.Lock()
	c, broken = r.conn, r.aborted
	stop := r.stopContextWatch
	r.conn, r.stopContextWatch = nil, nil
	r.mu.Unlock()
	if c != nil {
		c.cancelContextWatch()
	}
	if stop != nil {
		stop()
	}
	return c, broken
}

// watchContext breaks the exchange off when its context ends.
func (r *Reply) watchContext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil && r.stopContextWatch == nil {
		r.stopContextWatch = context.AfterFunc(r.ctx, r.Break)
	}
}

// Break makes whoever waits for the answer come back with an error.
func (r *Reply) Break() {
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

func (r *Reply) isAborted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.aborted
}

// attachConn ties the exchange to a connection; it says false where it was broken off
// before.
func (r *Reply) attachConn(c *clientConn) bool {
	r.mu.Lock()
	r.conn, r.cancelDial = c, nil
	broken := r.aborted
	r.mu.Unlock()
	c.scheduleContextWatch(r)
	return !broken
}

func (r *Reply) setDialCancel(cancel context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancelDial = cancel
	return !r.aborted
}

// Redirects says whether the answer points elsewhere.
func (r *Reply) Redirects() bool {
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return r.Get("Location") != ""
	}
	return false
}

// Follow goes where a reply points, by the rules that the line's client has for
// that, and closes it. header and body are those of the request.
func (r *Reply) Follow(ctx context.Context, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.client.url.String(), bytes.NewReader(body))
	if err != nil {
		r.endExchange(false)
		return nil, junctor.Errorf(junctor.CodeInternal, "a request could not be made: %w", err)
	}
	req.Header = header
	answer := &http.Response{
		Status: http.StatusText(r.Status), StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Location": {r.Get("Location")}}, Body: http.NoBody, Request: req,
	}
	r.endExchange(true)
	client := *r.client.redirectClient
	client.Transport = &knownResponseTransport{next: client.Transport, first: answer}
	return client.Do(req)
}

// knownResponseTransport is a transport whose first answer is there already.
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
