package upstream

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// goodbye is how long a server is waited for that is told something on the way
// out: that a call is cancelled, or a session over.
const goodbye = 2 * time.Second

// httpLink is a link over Streamable HTTP, of either era. A modern one has no
// state but its credentials; a legacy one has a session.
type httpLink struct {
	greeting
	o       *Options
	mirrors func(tool string) []wire.ParamHeader // which arguments a tool wants in headers
	session bool                                 // the server gave a session id
	carried

	flights  flights
	asks     asks
	messages sync.Pool // of *wire.Message, which are large

	streaming chan struct{} // closed once the session's own stream is there, or is known not to be
	hearOnce  sync.Once

	ctx    context.Context // of the link
	cancel context.CancelFunc
	work   jobs // what is still to be told to the server
}

func newHTTPLink(o *Options, g greeting, op opening, mirrors func(string) []wire.ParamHeader) *httpLink {
	l := &httpLink{greeting: g, o: o, mirrors: mirrors, carried: carried{number: op.number}, streaming: make(chan struct{})}
	h := baseHeader(o, op.credentials)
	if g.spoken != "" {
		h[wire.HeaderProtocolVersion] = []string{g.spoken}
	}
	l.line, _ = egress.FastClient(o.Stream, o.URL)
	l.set(h)
	l.flights.ambiguous = op.ambiguous
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// message gives one to read an answer into.
func (l *httpLink) message() *wire.Message {
	if m, ok := l.messages.Get().(*wire.Message); ok {
		return m
	}
	return &wire.Message{}
}

// baseHeader is what every request to a server carries. Credentials come first:
// none of them can change what the protocol says.
func baseHeader(o *Options, credentials http.Header) http.Header {
	h := credentials.Clone()
	if h == nil {
		h = http.Header{}
	}
	if h.Get("User-Agent") == "" {
		h["User-Agent"] = []string{"junctor/" + o.Version}
	}
	for _, name := range []string{wire.HeaderSessionID, wire.HeaderLastEventID, wire.HeaderMethod, wire.HeaderName, wire.HeaderProtocolVersion} {
		h.Del(name)
	}
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{"application/json, text/event-stream"}
	return h
}

// headers are those of one POST over an HTTP client.
func (l *httpLink) headers(method string, params []byte) http.Header {
	h := maps.Clone(l.header()) // values are shared, and never changed
	for _, f := range l.fields(nil, method, params) {
		h[f.Name] = []string{f.Value}
	}
	return h
}

// fields appends the header fields that one POST has beside those of all.
func (l *httpLink) fields(dst []httpfast.HeaderField, method string, params []byte) []httpfast.HeaderField {
	if l.o.Traced {
		dst = appendTrace(dst, params)
	}
	if !l.isModern {
		return dst
	}
	dst = append(dst, httpfast.HeaderField{Name: wire.HeaderMethod, Value: method})
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
		name, _ := wire.String(wire.Get(params, "name"))
		dst = append(dst, httpfast.HeaderField{Name: wire.HeaderName, Value: wire.EncodeHeader(name)})
		if method == wire.MethodToolsCall && l.mirrors != nil {
			dst = appendMirrors(dst, l.mirrors(name), params)
		}
	case wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel:
		id, _ := wire.String(wire.Get(params, "taskId"))
		dst = append(dst, httpfast.HeaderField{Name: wire.HeaderName, Value: wire.EncodeHeader(id)})
	case wire.MethodResourcesRead:
		uri, _ := wire.String(wire.Get(params, "uri"))
		dst = append(dst, httpfast.HeaderField{Name: wire.HeaderName, Value: wire.EncodeHeader(uri)})
	}
	return dst
}

// appendTrace appends the trace that a call is part of, for servers that look for
// it in headers alone.
func appendTrace(dst []httpfast.HeaderField, params []byte) []httpfast.HeaderField {
	meta := wire.Get(params, "_meta")
	for _, f := range [...]struct{ key, name string }{{wire.MetaTraceparent, "Traceparent"}, {wire.MetaTracestate, "Tracestate"}} {
		value, _ := wire.String(wire.Get(meta, f.key))
		if value != "" && wire.EncodeHeader(value) == value { // nothing that a header cannot hold
			dst = append(dst, httpfast.HeaderField{Name: f.name, Value: value})
		}
	}
	return dst
}

// appendMirrors appends the arguments that a tool wants in headers, too.
func appendMirrors(dst []httpfast.HeaderField, mirrors []wire.ParamHeader, params []byte) []httpfast.HeaderField {
	if len(mirrors) == 0 {
		return dst
	}
	h := http.Header{}
	wire.SetParamHeaders(h, mirrors, wire.Get(params, "arguments"))
	for name, values := range h {
		dst = append(dst, httpfast.HeaderField{Name: name, Value: values[0]})
	}
	return dst
}

// send makes one HTTP request. Errors are *junctor.Error.
func send(ctx context.Context, client *http.Client, method, url string, h http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a request could not be made: %w", err)
	}
	req.Header = h
	resp, err := client.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	return resp, nil
}

// transportError gives an error of an HTTP client its code: egress has done so
// already, unless the client's own time-out was first.
func transportError(ctx context.Context, err error) error {
	if own, ok := errors.AsType[*junctor.Error](err); ok {
		return own
	}
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "the server did not answer in time", Cause: err}
	}
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "the connection to the server broke", Cause: err}
}

// roundTrip implements link.
func (l *httpLink) roundTrip(ctx context.Context, method string, params []byte, p peer) ([]byte, error) {
	return l.call(ctx, method, params, p, nil, l.o.party())
}

// call is roundTrip with room for the answer, which may be nil. The spare room of
// params is written to.
func (l *httpLink) call(ctx context.Context, method string, params []byte, p peer, room *[]byte, who limit.Party) ([]byte, error) {
	x := &exchange{l: l, peer: p, room: room, who: who}
	defer x.done()
	if err := l.flights.beginOn(&x.flight, x, params, p); err != nil {
		return nil, err
	}
	defer l.flights.end(&x.flight)
	x.id = x.flight.id
	resp, err := x.post(ctx, method, params)
	var result []byte
	if err == nil {
		result, err = x.read(ctx, resp)
	}
	if err != nil && l.ctx.Err() != nil {
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "the session with the server was closed while the call ran", Cause: errLost}
	}
	if err != nil && ctx.Err() != nil {
		l.abandon(x.id, method) //nolint:contextcheck // the call's own context has ended
	}
	return result, err
}

// abandon tells a legacy server that nobody waits for a request any more; a
// modern one sees it from the closed stream.
func (l *httpLink) abandon(id []byte, method string) {
	if l.isModern || method == wire.MethodInitialize {
		return
	}
	l.work.start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		_ = l.notify(ctx, wire.NoteCancelled, cancelParams(id)) // it is not waited for
	})
}

func cancelParams(id []byte) []byte {
	return append(append([]byte(`{"requestId":`), id...), `,"reason":"the caller no longer waits"}`...)
}

// notify implements link.
func (l *httpLink) notify(ctx context.Context, method string, params []byte) error {
	return l.tell(ctx, method, params, wire.AppendNotification(nil, method, params))
}

// tell sends what has no answer: a notification, or a response.
func (l *httpLink) tell(ctx context.Context, method string, params, message []byte) error {
	x := &exchange{l: l}
	defer x.done()
	resp, err := x.postMessage(ctx, method, params, message)
	if err != nil {
		return err
	}
	defer finish(resp.body)
	if resp.status >= 300 {
		return l.statusError(resp)
	}
	return nil
}

// question answers a request of the server. ctx is that of the stream it came on.
func (l *httpLink) question(ctx context.Context, m *wire.Message, p peer, refused *wire.Error) {
	l.asks.start(ctx, m, p, l.o.judgeAsk(m, refused), func(ctx context.Context, message []byte) {
		if err := l.tell(ctx, "", nil, message); err != nil {
			l.o.limits.warn(l.o.Logger, "the answer to a request of a server did not reach it", "server", l.o.ID, "error", err)
		}
	})
}

// close implements link.
func (l *httpLink) close() error {
	l.cancel() // first: what ends now ends because of it
	l.flights.fail(&junctor.Error{Code: junctor.CodeUnavailable, Message: "the session with the server was closed", Cause: errLost})
	l.asks.close()
	l.work.close()
	if !l.session {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	resp, err := send(ctx, l.o.Client, http.MethodDelete, l.o.URL.String(), l.header(), nil) //nolint:bodyclose // finish does
	if err != nil {
		return err
	}
	finish(resp.Body)
	return nil
}
