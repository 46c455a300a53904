package egress

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

// errBroken is for an exchange that was broken off from elsewhere.
var errBroken = &junctor.Error{Code: junctor.CodeCanceled, Message: "the exchange was broken off"}

// Reply is the answer to one request over a Line. It is read by one goroutine;
// only Break may be called by others. A new one is made by &Reply{}.
type Reply struct {
	Status int
	Length int64 // of the body; -1 is not known

	line *Line
	ctx  context.Context

	mu     sync.Mutex
	stop   func() bool // of ctx's watch; nil is none
	c      *conn       // nil before and after
	cancel context.CancelFunc
	broken bool
}

// Get gives the first value of a header field, "" for none. It knows nothing
// any more after Close.
func (r *Reply) Get(name string) string {
	if r.c == nil {
		return ""
	}
	v := lookup(r.c.in.lines(), name)
	if string(v) == "application/json" { // by far the most frequent
		return "application/json"
	}
	return string(v)
}

// Read reads the body. Its errors are those of Egress.Client.
func (r *Reply) Read(p []byte) (int, error) {
	if r.c == nil {
		return 0, errBroken
	}
	n, err := r.c.in.readBody(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, classify(r.ctx, r.line.url.Host, err)
}

// Close ends the exchange. The connection is used again if the answer was read
// to its end, and else closed.
func (r *Reply) Close() error {
	r.end(false)
	return nil
}

// Leave is Close for an answer of which nothing more is wanted and that should
// end by itself any moment: the connection is used again once it has.
func (r *Reply) Leave() { r.end(true) }

func (r *Reply) end(leave bool) {
	if r.c == nil {
		return
	}
	r.c.finishWriting()
	c, broken := r.let()
	if broken || c.spoilt || c.in.closing || !c.ready(leave) {
		r.line.pool.discard(c)
		return
	}
	r.line.pool.put(c)
}

// drop closes the connection of an exchange that gave no answer.
func (r *Reply) drop() {
	if c, _ := r.let(); c != nil {
		_ = c.Close() // before its writer is waited for
		c.finishWriting()
		r.line.pool.closed()
	}
}

// let parts the exchange from its connection, if it has one.
func (r *Reply) let() (c *conn, broken bool) {
	r.mu.Lock()
	c, broken = r.c, r.broken
	stop := r.stop
	r.c, r.stop = nil, nil
	r.mu.Unlock()
	if c != nil {
		c.unwatch()
	}
	if stop != nil {
		stop()
	}
	return c, broken
}

// tie breaks the exchange off when its context ends.
func (r *Reply) tie() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c != nil && r.stop == nil {
		r.stop = context.AfterFunc(r.ctx, r.Break)
	}
}

// Break makes whoever waits for the answer come back with an error.
func (r *Reply) Break() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
	if r.cancel != nil {
		r.cancel()
	}
	if r.c != nil {
		_ = r.c.SetDeadline(time.Unix(1, 0))
	}
}

func (r *Reply) isBroken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// hold ties the exchange to a connection; it says false where it was broken off
// before.
func (r *Reply) hold(c *conn) bool {
	r.mu.Lock()
	r.c, r.cancel = c, nil
	broken := r.broken
	r.mu.Unlock()
	c.watch(r)
	return !broken
}

func (r *Reply) dialling(cancel context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
	return !r.broken
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.line.url.String(), bytes.NewReader(body))
	if err != nil {
		r.end(false)
		return nil, junctor.Errorf(junctor.CodeInternal, "a request could not be made: %w", err)
	}
	req.Header = header
	answer := &http.Response{
		Status: http.StatusText(r.Status), StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Location": {r.Get("Location")}}, Body: http.NoBody, Request: req,
	}
	r.end(true)
	client := *r.line.client
	client.Transport = &answered{rest: client.Transport, first: answer}
	return client.Do(req)
}

// answered is a transport whose first answer is there already.
type answered struct {
	rest  http.RoundTripper
	first *http.Response
}

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(req *http.Request) (*http.Response, error) {
	if first := a.first; first != nil {
		a.first = nil
		closeBody(req)
		return first, nil
	}
	return a.rest.RoundTrip(req)
}
