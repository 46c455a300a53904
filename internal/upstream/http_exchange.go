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
	// maxResumes is how often in a row a broken stream is taken up again
	// without anything new on it.
	maxResumes = 5
	// defaultRetry is how long a stream is left alone that broke, unless the
	// server said otherwise.
	defaultRetry = 500 * time.Millisecond
	maxRetry     = 30 * time.Second
	// minRetry is the least: a server that says less would be asked without pause.
	minRetry = 100 * time.Millisecond
	// drainFor is how long the end of a stream is waited for after its answer,
	// to use the connection again.
	drainFor = 250 * time.Millisecond
)

// exchange is one POST and its answer.
type exchange struct {
	l    *httpLink
	id   []byte
	peer peer
	room *[]byte     // for the answer; nil is new memory
	who  limit.Party // whose memory the answer takes

	flight flight
	open   [96]byte // the beginning of the request

	over    httpfast.Response // over a line
	ctx     context.Context   // of what ends with the exchange; nil before there is anything
	release func()            // ends it
	drained bool              // somebody else calls release

	unasked bool     // an answer came that was for no request of this exchange
	conn    net.Conn // that an HTTP client used; nil over a line

	lastID string        // of the stream's events
	retry  time.Duration // as the server said
}

// post sends a request.
func (x *exchange) post(ctx context.Context, method string, params []byte) (reply, error) {
	if x.l.line == nil || len(params) == 0 {
		return x.postMessage(ctx, method, params, wire.AppendRequest(nil, x.id, method, params))
	}
	begin := wire.AppendRequestOpen(x.open[:0], x.id, method)
	return x.postParts(ctx, method, params, begin, append(params, '}'))
}

// postMessage sends a message as it is. params are those in it.
func (x *exchange) postMessage(ctx context.Context, method string, params, message []byte) (reply, error) {
	if x.l.line != nil {
		return x.postParts(ctx, method, params, message)
	}
	l := x.l
	ctx = httptrace.WithClientTrace(x.tied(ctx), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { x.conn = got.Conn }})
	resp, err := send(ctx, l.o.Stream, http.MethodPost, l.o.URL.String(), l.headers(method, params), message) //nolint:bodyclose // the reply's reader does
	if err != nil {
		return reply{}, err
	}
	return replyOf(resp), nil
}

// postParts sends a message over the line.
func (x *exchange) postParts(ctx context.Context, method string, params []byte, parts ...[]byte) (reply, error) {
	head, err := x.l.now.Load().common()
	if err != nil {
		return reply{}, err
	}
	var few [2]httpfast.HeaderField
	if err := x.l.line.Post(ctx, &x.over, head, x.l.fields(few[:0], method, params), parts...); err != nil {
		return reply{}, err
	}
	if x.over.IsRedirect() {
		resp, err := x.over.FollowRedirect(x.tied(ctx), x.l.headers(method, params), bytes.Join(parts, nil)) //nolint:bodyclose // the reply's reader does
		if err != nil {
			return reply{}, transportError(ctx, err)
		}
		return replyOf(resp), nil
	}
	return reply{status: x.over.Status, length: x.over.Length, header: &x.over, body: &x.over}, nil
}

// tied gives a context that ends with the exchange, or with the link.
func (x *exchange) tied(ctx context.Context) context.Context {
	if x.ctx == nil {
		var cancel context.CancelFunc
		x.ctx, cancel = context.WithCancel(ctx)
		stop := context.AfterFunc(x.l.ctx, cancel)
		x.release = func() { stop(); cancel() }
	}
	return x.ctx
}

// Break ends the exchange from elsewhere: the link is closed.
func (x *exchange) Break() { x.over.Abort() }

func (x *exchange) done() {
	if x.release != nil && !x.drained {
		x.release()
	}
	_ = x.over.Close()
}

// read gives the result that an answer holds.
func (x *exchange) read(ctx context.Context, resp reply) ([]byte, error) {
	if resp.status != http.StatusOK {
		defer finish(resp.body)
		if resp.status/100 == 2 {
			return nil, x.upstream("answered a request with HTTP " + strconv.Itoa(resp.status) + " and no result")
		}
		return nil, x.l.statusError(resp)
	}
	stream, ok := isStream(resp.header)
	if !ok {
		defer finish(resp.body)
		return nil, x.upstream("answered with the content type " + x.l.o.said(resp.header.Get("Content-Type")) + " where JSON or an event stream belongs")
	}
	if stream {
		return x.stream(ctx, resp.body)
	}
	defer resp.body.Close()
	var buf []byte
	if x.room != nil {
		buf = (*x.room)[:0]
	}
	body, err := x.l.o.readBody(ctx, x.who, buf, resp.body, resp.length, x.l.o.MaxBytes)
	if x.room != nil && body != nil {
		*x.room = body
	}
	if err != nil {
		return nil, transportError(ctx, err)
	}
	var found answer
	into := x.l.message()
	defer x.l.messages.Put(into)
	err = eachMessage(into, body, func(m *wire.Message) {
		if x.take(ctx, m) {
			found = readAnswer(m)
		}
	})
	switch {
	case err != nil:
		return nil, x.broken("sent what is no JSON-RPC message", err)
	case x.unasked || found.err == nil && found.result == nil:
		return nil, x.misplaced()
	}
	return found.result, found.err
}

// misplaced is the error of an answer to another request than the one that was
// sent. The connection is not used again: what comes on it next may be an answer
// to nothing, too.
func (x *exchange) misplaced() error {
	x.over.Abort()
	if x.conn != nil {
		_ = x.conn.Close()
	}
	return x.upstream("answered another request than the one it was sent")
}

func (x *exchange) upstream(what string) error {
	return junctor.Errorf(junctor.CodeUpstream, "server %s %s", x.l.o.ID, what)
}

func (x *exchange) broken(what string, cause error) error {
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + x.l.o.ID + " " + what, Cause: cause}
}

// eachMessage hands the messages of a body to take: one, or those of a batch,
// which one legacy version has. m is where one is read into.
func eachMessage(m *wire.Message, body []byte, take func(*wire.Message)) error {
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

// take handles one message of the exchange's stream and says whether it is the
// answer.
func (x *exchange) take(ctx context.Context, m *wire.Message) bool {
	switch m.Kind {
	case wire.Response:
		if bytes.Equal(m.ID, x.id) || m.ID == nil && m.Error != nil { // of a request that it could not read
			return true
		}
		x.unasked = true
	case wire.Notification:
		x.note(m)
	case wire.Request:
		x.l.o.limits.note()
		// On the stream of a call, it is that call's, and ends with it.
		x.l.question(x.tied(ctx), m, x.peer, x.l.refuseAsk())
	}
	return false
}

func (x *exchange) note(m *wire.Message) {
	x.l.o.limits.note()
	switch m.Method {
	case wire.NoteProgress, wire.NoteMessage:
		if x.peer != nil {
			x.peer.note(m.Method, m.Params)
		}
	case wire.NoteCancelled:
		x.l.asks.cancelled(m.RequestID)
	default:
		x.l.flights.noted(m.Method, m.Params)
	}
}

// refuseAsk is the answer to requests of a server of the modern era, which has
// none.
func (l *httpLink) refuseAsk() *wire.Error {
	if !l.isModern {
		return nil
	}
	return &wire.Error{Code: wire.CodeInvalidRequest, Message: "a server of this protocol version sends no requests; answer with input_required"}
}

// stream reads events until the answer is among them. A legacy stream that
// breaks is taken up again where it stopped.
func (x *exchange) stream(ctx context.Context, body io.ReadCloser) ([]byte, error) {
	for failures := 0; ; {
		found, progressed, err := x.events(ctx, body)
		if found != nil {
			return found.result, found.err
		}
		if progressed {
			failures = 0
		}
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		if failures++; x.l.isModern || x.lastID == "" || failures > maxResumes || errors.Is(err, wire.ErrTooLong) || errors.Is(err, errNotKept) {
			return nil, x.ended(err)
		}
		resp, err := x.resume(x.tied(ctx)) //nolint:bodyclose // events does
		if err != nil {
			return nil, err
		}
		body = resp.Body
	}
}

// ended is why a stream gave no answer.
func (x *exchange) ended(err error) error {
	if errors.Is(err, wire.ErrTooLong) {
		return tooLarge(x.l.o.MaxBytes)
	}
	if own, ok := errors.AsType[*junctor.Error](err); ok && own.Code != junctor.CodeInternal {
		return own
	}
	return x.broken("ended its stream without an answer", err)
}

// resume asks for the rest of a stream, once the server wants to be asked.
func (x *exchange) resume(ctx context.Context) (*http.Response, error) {
	var last error
	for range maxResumes {
		if err := pause(ctx, retryDelay(x.retry)); err != nil {
			return nil, err
		}
		resp, err := x.l.get(ctx, x.lastID)
		if err == nil {
			return resp, nil
		}
		if last = err; ctx.Err() != nil || statusOf(err) >= 400 && statusOf(err) < 500 || errors.Is(err, errGone) {
			break
		}
	}
	if over(last) || statusOf(last) != 0 {
		// The request was taken; what became of it is not known.
		return nil, &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + x.l.o.ID + " broke off its answer and gives no more of it", Cause: errLost}
	}
	return nil, last
}

// get opens a legacy event stream, where lastID names one.
func (l *httpLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	h := l.header().Clone()
	delete(h, "Content-Type")
	h["Accept"] = []string{"text/event-stream"}
	if lastID != "" {
		h[wire.HeaderLastEventID] = []string{lastID}
	}
	resp, err := send(ctx, l.o.Stream, http.MethodGet, l.o.URL.String(), h, nil)
	if err != nil {
		return nil, err
	}
	if stream, _ := isStream(resp.Header); resp.StatusCode != http.StatusOK || !stream {
		defer finish(resp.Body)
		if resp.StatusCode == http.StatusOK {
			return nil, &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.o.ID + " has no event stream where one belongs", Cause: &answerError{status: http.StatusMethodNotAllowed}}
		}
		return nil, l.statusError(replyOf(resp))
	}
	return resp, nil
}

// events reads one stream to its end or to the answer. progressed says that
// there was anything on it.
func (x *exchange) events(ctx context.Context, body io.ReadCloser) (found *answer, progressed bool, err error) {
	r := wire.NewEventReader(body, int(x.l.o.MaxBytes))
	room := x.l.o.growthFor(ctx, x.who)
	r.GrowWith(room.grow)
	into := x.l.message()
	defer x.l.messages.Put(into)
	defer func() {
		if found == nil {
			_ = body.Close()
		}
	}()
	for {
		e, err := r.Next()
		room.Settle()
		if err != nil {
			return nil, progressed, err
		}
		if e.HasID {
			x.lastID, progressed = e.ID, true
		}
		if e.HasRetry {
			x.retry = junctor.BoundDuration(float64(e.Retry), time.Millisecond, maxRetry)
		}
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		progressed = true
		err = eachMessage(into, ownData(r, e.Data), func(m *wire.Message) {
			if x.take(ctx, m) && found == nil {
				a := readAnswer(m)
				found = &a
			}
		})
		if err != nil {
			return nil, progressed, x.broken("sent what is no JSON-RPC message", err)
		}
		if x.unasked {
			found = &answer{err: x.misplaced()}
			_ = body.Close()
			return found, progressed, nil
		}
		if found != nil {
			x.drain(body)
			return found, progressed, nil
		}
	}
}

// growth is the memory of one message after the other on a stream, which is who's
// until it is of no more use.
type growth struct{ *limit.ByteGrowth }

func (o *Options) growthFor(ctx context.Context, who limit.Party) growth {
	return growth{o.Bytes.Growth(ctx, who, o.MaxBytes+1)}
}

// grow is a wire.Grower.
func (g growth) grow(buf []byte, n int) ([]byte, error) {
	buf, err := g.Grow(buf, n)
	if err != nil {
		return buf, notKept(err)
	}
	return buf, nil
}

// ownData gives the data of an event for keeps: that of a long one as it is.
func ownData(r *wire.EventReader, data []byte) []byte {
	if len(data) <= limit.UncountedBytes {
		return bytes.Clone(data)
	}
	r.Detach()
	return data
}

// drain reads to the end of a stream that has nothing more to say, so that its
// connection can be used again, and closes it if that takes long.
func (x *exchange) drain(body io.ReadCloser) {
	if body == io.ReadCloser(&x.over) {
		x.over.Release()
		return
	}
	release := x.release
	x.drained = x.l.work.start(func() {
		defer release()
		late := time.AfterFunc(drainFor, release)
		defer late.Stop()
		finish(body)
	})
	if !x.drained {
		_ = body.Close()
	}
}

func retryDelay(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultRetry
	}
	return min(max(d, minRetry), maxRetry)
}

// pause waits, or gives the reason why it did not.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}
