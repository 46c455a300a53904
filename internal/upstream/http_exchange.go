package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// maxResumes is how often in a row a broken stream is resumed without anything new on
	// it.
	maxResumes = 5
	// defaultStreamRetry is the pause before a broken stream is resumed, unless the
	// server named another.
	defaultStreamRetry = 500 * time.Millisecond
	maxStreamRetry     = 30 * time.Second
	// minStreamRetry is the shortest pause. A server that names less would be asked
	// without end.
	minStreamRetry = 100 * time.Millisecond
	// drainTimeout is how long the end of a stream is awaited after its answer, to reuse
	// the connection.
	drainTimeout = 250 * time.Millisecond
)

// httpExchange is one POST and its answer, which may be a stream. One goroutine uses it;
// only Break may come from others. closeExchange must be called at the end.
type httpExchange struct {
	link    *httpLink
	id      []byte // of the request, as JSON
	handler messageHandler
	buffer  *[]byte     // for the answer; nil allocates
	party   limit.Party // whose byte budget pays for the answer

	call       pendingCall // its entry in the link's pending calls
	openBuffer [96]byte    // memory for the beginning of the request

	lineReply httpfast.Response // the answer, if a line is used
	// ctx ends with the exchange or the link. boundContext makes it, and release ends it.
	ctx     context.Context
	release func()
	drained bool // a background goroutine calls release

	gotUnasked bool     // an answer came that belongs to no request of this exchange
	conn       net.Conn // connection of the HTTP client; nil over a line

	lastID string        // of the events on the stream
	retry  time.Duration // as the server set it
}

// postRequest sends a request. Over a line, it sends the params without copying them.
func (x *httpExchange) postRequest(ctx context.Context, method string, params []byte) (httpReply, error) {
	if x.link.line == nil || len(params) == 0 {
		return x.postMessage(ctx, method, params, wire.AppendRequest(nil, x.id, method, params))
	}
	begin := wire.AppendRequestOpen(x.openBuffer[:0], x.id, method)
	return x.postParts(ctx, method, params, begin, append(params, '}'))
}

// postMessage sends a complete message. params are those in it, for the headers.
func (x *httpExchange) postMessage(ctx context.Context, method string, params, message []byte) (httpReply, error) {
	if x.link.line != nil {
		return x.postParts(ctx, method, params, message)
	}
	l := x.link
	ctx = httptrace.WithClientTrace(x.boundContext(ctx), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { x.conn = got.Conn }})
	resp, err := sendHTTP(ctx, l.opts.StreamClient, http.MethodPost, l.opts.URL.String(), l.requestHeader(method, params), message) //nolint:bodyclose // the reader of the reply closes it
	if err != nil {
		return httpReply{}, err
	}
	return newReply(resp), nil
}

// postParts sends a message in parts over the line. If the server redirects, an HTTP
// client follows, which checks the new address.
func (x *httpExchange) postParts(ctx context.Context, method string, params []byte, parts ...[]byte) (httpReply, error) {
	head, err := x.link.current.Load().lineHead()
	if err != nil {
		return httpReply{}, err
	}
	var few [2]httpfast.HeaderField
	if err := x.link.line.Post(ctx, &x.lineReply, head, x.link.appendFields(few[:0], method, params), parts...); err != nil {
		return httpReply{}, err
	}
	if x.lineReply.IsRedirect() {
		resp, err := x.lineReply.FollowRedirect(x.boundContext(ctx), x.link.requestHeader(method, params), bytes.Join(parts, nil)) //nolint:bodyclose // the reader of the reply closes it
		if err != nil {
			return httpReply{}, transportError(ctx, err)
		}
		return newReply(resp), nil
	}
	return httpReply{status: x.lineReply.Status, length: x.lineReply.Length, header: &x.lineReply, body: &x.lineReply}, nil
}

// boundContext gives a context that ends with the exchange or with the link.
func (x *httpExchange) boundContext(ctx context.Context) context.Context {
	if x.ctx == nil {
		var cancel context.CancelFunc
		x.ctx, cancel = context.WithCancel(ctx)
		stop := context.AfterFunc(x.link.ctx, cancel)
		x.release = func() { stop(); cancel() }
	}
	return x.ctx
}

// Break aborts the exchange from another goroutine: the link is being closed.
func (x *httpExchange) Break() { x.lineReply.Abort() }

// closeExchange releases the connection and the context.
func (x *httpExchange) closeExchange() {
	if x.release != nil && !x.drained {
		x.release()
	}
	_ = x.lineReply.Close()
}

// readResult reads the answer of a request, from a body or a stream, and closes the body.
// An answer to another request is an error, even beside the right one: the connection
// cannot be trusted any more.
func (x *httpExchange) readResult(ctx context.Context, resp httpReply) ([]byte, error) {
	if resp.status != http.StatusOK {
		defer discardBody(resp.body)
		if resp.status/100 == 2 {
			return nil, x.upstreamError("answered a request with HTTP " + strconv.Itoa(resp.status) + " and no result")
		}
		return nil, x.link.statusError(resp)
	}
	stream, ok := isStream(resp.header)
	if !ok {
		defer discardBody(resp.body)
		return nil, x.upstreamError("answered with the content type " + x.link.opts.quoteText(resp.header.Get("Content-Type")) + "; expected application/json or text/event-stream")
	}
	if stream {
		return x.readStream(ctx, resp.body)
	}
	defer resp.body.Close()
	var buf []byte
	if x.buffer != nil {
		buf = (*x.buffer)[:0]
	}
	body, err := x.link.opts.readBody(ctx, x.party, buf, resp.body, resp.length, x.link.opts.MaxBytes)
	if x.buffer != nil && body != nil {
		*x.buffer = body
	}
	if err != nil {
		return nil, transportError(ctx, err)
	}
	// A batch may hold notifications beside the answer, in any order.
	var found callResponse
	into := x.link.takeMessage()
	defer x.link.messages.Put(into)
	err = forEachMessage(into, body, func(m *wire.Message) {
		if x.handleMessage(ctx, m) {
			found = parseResponse(m)
		}
	})
	switch {
	case err != nil:
		return nil, x.brokenError("sent an invalid JSON-RPC message", err)
	case x.gotUnasked || found.err == nil && found.result == nil:
		return nil, x.rejectMisplaced()
	}
	return found.result, found.err
}

// rejectMisplaced gives the error of an answer to another request. It also closes the
// connection: the next response on it may be an answer to nothing as well.
func (x *httpExchange) rejectMisplaced() error {
	x.lineReply.Abort()
	if x.conn != nil {
		_ = x.conn.Close()
	}
	return x.upstreamError("sent a response with another id than the request")
}

// upstreamError is an error of the server with CodeUpstream.
func (x *httpExchange) upstreamError(what string) error {
	return junctor.Errorf(junctor.CodeUpstream, "server %s %s", x.link.opts.ID, what)
}

// brokenError is upstreamError with a cause.
func (x *httpExchange) brokenError(what string, cause error) error {
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + x.link.opts.ID + " " + what, Cause: cause}
}

// forEachMessage parses the messages of a body and calls take for each: one message, or a
// batch, which one legacy version has. m is the memory for a single message.
func forEachMessage(m *wire.Message, body []byte, take func(*wire.Message)) error {
	if !wire.IsBatch(body) {
		if err := m.Parse(body); err != nil {
			return err
		}
		take(m)
		return nil
	}
	all, errs, err := wire.ParseBatch(body)
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for i := range all {
		take(&all[i])
	}
	return nil
}

// handleMessage handles one message of the exchange and reports whether it is the answer.
func (x *httpExchange) handleMessage(ctx context.Context, m *wire.Message) bool {
	switch m.Kind {
	case wire.Response:
		if bytes.Equal(m.ID, x.id) || m.ID == nil && m.Error != nil { // the server could not read the request, and so not its id
			return true
		}
		x.gotUnasked = true
	case wire.Notification:
		x.routeNotification(m)
	case wire.Request:
		x.link.opts.limits.paceMessage()
		// A request on the stream of a call belongs to that call, and ends with it.
		x.link.answerServerRequest(x.boundContext(ctx), m, x.handler, x.link.refuseModernRequest())
	}
	return false
}

// routeNotification passes a notification on the stream of a call to its receiver.
func (x *httpExchange) routeNotification(m *wire.Message) {
	x.link.opts.limits.paceMessage()
	switch m.Method {
	case wire.NotificationProgress, wire.NotificationMessage:
		if x.handler != nil {
			x.handler.handleNotification(m.Method, m.Params)
		}
	case wire.NotificationCancelled:
		x.link.serverRequests.cancelRequest(m.RequestID)
	default:
		x.link.pending.dispatchNotification(m.Method, m.Params)
	}
}

// refuseModernRequest is the answer to requests of a modern server, which must not send
// any; nil for a legacy one.
func (l *httpLink) refuseModernRequest() *wire.Error {
	if !l.modernEra {
		return nil
	}
	return &wire.Error{Code: wire.CodeInvalidRequest, Message: "a server of this protocol version must not send requests; return a result of the type input_required"}
}

// readStream reads events until the answer is among them. A legacy stream that breaks is
// resumed where it stopped. It closes the body.
func (x *httpExchange) readStream(ctx context.Context, body io.ReadCloser) ([]byte, error) {
	for failures := 0; ; {
		found, progressed, err := x.readUntilResponse(ctx, body)
		if found != nil {
			return found.result, found.err
		}
		if progressed {
			failures = 0
		}
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		if failures++; x.link.modernEra || x.lastID == "" || failures > maxResumes || errors.Is(err, wire.ErrTooLong) || errors.Is(err, errNoMemory) {
			return nil, x.streamError(err)
		}
		resp, err := x.resumeStream(x.boundContext(ctx)) //nolint:bodyclose // events does
		if err != nil {
			return nil, err
		}
		body = resp.Body
	}
}

// streamError is the error of a stream that ended without an answer.
func (x *httpExchange) streamError(err error) error {
	if errors.Is(err, wire.ErrTooLong) {
		return tooLargeError(x.link.opts.MaxBytes)
	}
	if own, ok := errors.AsType[*junctor.Error](err); ok && own.Code != junctor.CodeInternal {
		return own
	}
	return x.brokenError("ended its stream without a response", err)
}

// resumeStream opens the rest of a stream, after the pause that the server asked for.
func (x *httpExchange) resumeStream(ctx context.Context) (*http.Response, error) {
	var last error
	for range maxResumes {
		if err := waitContext(ctx, streamRetryDelay(x.retry)); err != nil {
			return nil, err
		}
		resp, err := x.link.openEventStream(ctx, x.lastID)
		if err == nil {
			return resp, nil
		}
		if last = err; ctx.Err() != nil || statusOf(err) >= 400 && statusOf(err) < 500 || errors.Is(err, errNotBegun) {
			break
		}
	}
	if isLinkOver(last) || statusOf(last) != 0 {
		// The server has taken the request, so it may have run.
		return nil, &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + x.link.opts.ID + " ended its stream before the response was complete, and does not resume it", Cause: errInterrupted}
	}
	return nil, last
}

// openEventStream opens a legacy event stream with GET. lastID resumes a stream after
// that event; "" opens the session's own.
func (l *httpLink) openEventStream(ctx context.Context, lastID string) (*http.Response, error) {
	h := l.currentHeader().Clone()
	delete(h, "Content-Type")
	h["Accept"] = []string{"text/event-stream"}
	if lastID != "" {
		h[wire.HeaderLastEventID] = []string{lastID}
	}
	resp, err := sendHTTP(ctx, l.opts.StreamClient, http.MethodGet, l.opts.URL.String(), h, nil)
	if err != nil {
		return nil, err
	}
	if stream, _ := isStream(resp.Header); resp.StatusCode != http.StatusOK || !stream {
		defer discardBody(resp.Body)
		if resp.StatusCode == http.StatusOK {
			return nil, &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.opts.ID + " answered GET with HTTP 200, but not with an event stream", Cause: &httpStatusError{status: http.StatusMethodNotAllowed}}
		}
		return nil, l.statusError(newReply(resp))
	}
	return resp, nil
}

// readUntilResponse reads one stream to its end or to the answer. progressed reports
// whether anything came on it. It closes the body, unless drainStream does so later.
func (x *httpExchange) readUntilResponse(ctx context.Context, body io.ReadCloser) (found *callResponse, progressed bool, err error) {
	r := wire.NewEventReader(body, int(x.link.opts.MaxBytes))
	memory := x.link.opts.memoryFor(ctx, x.party)
	r.GrowWith(memory.growBuffer)
	into := x.link.takeMessage()
	defer x.link.messages.Put(into)
	defer func() {
		if found == nil {
			_ = body.Close()
		}
	}()
	for {
		e, err := r.Next()
		memory.FinishMessage()
		if err != nil {
			return nil, progressed, err
		}
		// The id of the last event is where a broken stream is resumed.
		if e.HasID {
			x.lastID, progressed = e.ID, true
		}
		if e.HasRetry {
			x.retry = junctor.BoundDuration(float64(e.Retry), time.Millisecond, maxStreamRetry)
		}
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		progressed = true
		err = forEachMessage(into, keepEventData(r, e.Data), func(m *wire.Message) {
			if x.handleMessage(ctx, m) && found == nil {
				a := parseResponse(m)
				found = &a
			}
		})
		if err != nil {
			return nil, progressed, x.brokenError("sent an invalid JSON-RPC message", err)
		}
		if x.gotUnasked {
			found = &callResponse{err: x.rejectMisplaced()}
			_ = body.Close()
			return found, progressed, nil
		}
		if found != nil {
			x.drainStream(body)
			return found, progressed, nil
		}
	}
}

// messageMemory pays for the memory of one message after the other on a stream. Settle
// gives it back when the message is no longer needed.
type messageMemory struct{ *limit.ByteGrowth }

// memoryFor makes the memory of a stream, which the byte budget of party pays for.
func (o *Options) memoryFor(ctx context.Context, party limit.Party) messageMemory {
	return messageMemory{o.ByteBudget.NewGrowth(ctx, party, o.MaxBytes+1)}
}

// growBuffer is a wire.Grower.
func (g messageMemory) growBuffer(buf []byte, n int) ([]byte, error) {
	buf, err := g.Grow(buf, n)
	if err != nil {
		return buf, memoryError(err)
	}
	return buf, nil
}

// keepEventData makes the data of an event valid beyond the next read. It copies short
// data, and takes the reader's buffer for long data.
func keepEventData(r *wire.EventReader, data []byte) []byte {
	if len(data) <= limit.MaxUncountedBytes {
		return bytes.Clone(data)
	}
	r.Detach()
	return data
}

// drainStream reads a stream to its end after the answer, so that its connection can be
// reused. It closes the stream if that takes long.
func (x *httpExchange) drainStream(body io.ReadCloser) {
	if body == io.ReadCloser(&x.lineReply) {
		x.lineReply.Release()
		return
	}
	release := x.release
	x.drained = x.link.background.start(func() {
		defer release()
		late := time.AfterFunc(drainTimeout, release)
		defer late.Stop()
		discardBody(body)
	})
	if !x.drained {
		_ = body.Close()
	}
}

// streamRetryDelay bounds the pause that a server asked for.
func streamRetryDelay(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultStreamRetry
	}
	return min(max(d, minStreamRetry), maxStreamRetry)
}

// waitContext waits for d. It returns an error if ctx ends first.
func waitContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}
