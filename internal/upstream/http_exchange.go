package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
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
	// drainFor is how long the end of a stream is waited for after its answer,
	// to use the connection again.
	drainFor = 250 * time.Millisecond
)

// exchange is one POST and its answer.
type exchange struct {
	l       *httpLink
	id      []byte
	peer    peer
	release func() // ends the request's context

	lastID  string        // of the stream's events
	retry   time.Duration // as the server said
	drained bool          // somebody else ends the context
}

func (x *exchange) done() {
	if !x.drained {
		x.release()
	}
}

// read gives the result that an answer holds.
func (x *exchange) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	if resp.StatusCode != http.StatusOK {
		defer finish(resp.Body)
		if resp.StatusCode/100 == 2 {
			return nil, x.upstream("answered a request with HTTP " + resp.Status + " and no result")
		}
		return nil, x.l.statusError(resp)
	}
	stream, ok := isStream(resp.Header)
	if !ok {
		defer finish(resp.Body)
		return nil, x.upstream("answered with the content type " + clip(resp.Header.Get("Content-Type")) + " where JSON or an event stream belongs")
	}
	if stream {
		return x.stream(ctx, resp)
	}
	defer resp.Body.Close()
	body, err := readBody(resp.Body, resp.ContentLength, x.l.o.MaxBytes)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	var found answer
	err = eachMessage(body, func(m *wire.Message) {
		if x.take(ctx, m) {
			found = readAnswer(m)
		}
	})
	switch {
	case err != nil:
		return nil, x.broken("sent what is no JSON-RPC message", err)
	case found.err == nil && found.result == nil:
		return nil, x.upstream("answered another request than the one it was sent")
	}
	return found.result, found.err
}

func (x *exchange) upstream(what string) error {
	return junctor.Errorf(junctor.CodeUpstream, "server %s %s", x.l.o.ID, what)
}

func (x *exchange) broken(what string, cause error) error {
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + x.l.o.ID + " " + what, Cause: cause}
}

// eachMessage hands the messages of a body to take: one, or those of a batch,
// which one legacy version has.
func eachMessage(body []byte, take func(*wire.Message)) error {
	if !wire.IsBatch(body) {
		var m wire.Message
		if err := m.Parse(body); err != nil {
			return err
		}
		take(&m)
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
		return bytes.Equal(m.ID, x.id) || m.ID == nil
	case wire.Notification:
		x.note(m)
	case wire.Request:
		// On the stream of a call, it is that call's.
		x.l.question(ctx, m, x.peer, x.l.refuseAsk())
	}
	return false
}

func (x *exchange) note(m *wire.Message) {
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
func (x *exchange) stream(ctx context.Context, resp *http.Response) ([]byte, error) {
	for failures := 0; ; {
		found, progressed, err := x.events(ctx, resp)
		if found != nil {
			return found.result, found.err
		}
		if progressed {
			failures = 0
		}
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		if failures++; x.l.isModern || x.lastID == "" || failures > maxResumes || errors.Is(err, wire.ErrTooLong) {
			return nil, x.ended(err)
		}
		if resp, err = x.resume(ctx); err != nil { //nolint:bodyclose // events does
			return nil, err
		}
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
	h := l.header.Clone()
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
		return nil, l.statusError(resp)
	}
	return resp, nil
}

// events reads one stream to its end or to the answer. progressed says that
// there was anything on it.
func (x *exchange) events(ctx context.Context, resp *http.Response) (found *answer, progressed bool, err error) {
	r := wire.NewEventReader(resp.Body, int(x.l.o.MaxBytes))
	defer func() {
		if found == nil {
			_ = resp.Body.Close()
		}
	}()
	for {
		e, err := r.Next()
		if err != nil {
			return nil, progressed, err
		}
		if e.HasID {
			x.lastID, progressed = e.ID, true
		}
		if e.HasRetry {
			x.retry = time.Duration(e.Retry) * time.Millisecond
		}
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		progressed = true
		err = eachMessage(bytes.Clone(e.Data), func(m *wire.Message) {
			if x.take(ctx, m) && found == nil {
				a := readAnswer(m)
				found = &a
			}
		})
		if err != nil {
			return nil, progressed, x.broken("sent what is no JSON-RPC message", err)
		}
		if found != nil {
			x.drain(resp.Body)
			return found, progressed, nil
		}
	}
}

// drain reads to the end of a stream that has nothing more to say, so that its
// connection can be used again, and closes it if that takes long.
func (x *exchange) drain(body io.ReadCloser) {
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
	return min(d, maxRetry)
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
