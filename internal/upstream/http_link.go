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

// noticeTimeout bounds the notices that nobody waits for: that a call is cancelled, or
// that a session has ended.
const noticeTimeout = 2 * time.Second

// httpLink is a link over Streamable HTTP, of either era. A modern one has no state but
// its credentials; a legacy one has a session.
//
// Each call has an HTTP exchange of its own (httpExchange). Messages that belong to no
// call come on the stream that listen opens.
type httpLink struct {
	handshakeInfo
	opts         *Options
	paramHeaders func(tool string) []wire.ParamHeader // which arguments of a tool go into headers, too
	hasSession   bool                                 // the server gave a session id
	linkHeaders

	pending        pendingCalls
	serverRequests serverRequests
	messages       sync.Pool // of *wire.Message, which are large

	// streamReady is closed once the session's own stream is open, or the server is known
	// to have none. Calls that cause notifications wait for it.
	streamReady     chan struct{}
	streamReadyOnce sync.Once

	ctx        context.Context // ends with close
	cancel     context.CancelFunc
	background backgroundGroup // notices to the server, and streams that are drained
}

// newHTTPLink makes a link without any traffic: the handshake has happened or follows. It
// uses a direct connection (httpfast.Client) where one is possible, and otherwise the HTTP
// client.
func newHTTPLink(o *Options, g handshakeInfo, op linkSettings, mirrors func(string) []wire.ParamHeader) *httpLink {
	l := &httpLink{handshakeInfo: g, opts: o, paramHeaders: mirrors, linkHeaders: linkHeaders{tokenNumber: op.tokenNumber}, streamReady: make(chan struct{})}
	h := baseHeader(o, op.credentials)
	if g.version != "" {
		h[wire.HeaderProtocolVersion] = []string{g.version}
	}
	l.line, _ = egress.FastClient(o.StreamClient, o.URL)
	l.setHeader(h)
	l.pending.onAmbiguous = op.onAmbiguous
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// takeMessage gives a message to parse an answer into, from the pool.
func (l *httpLink) takeMessage() *wire.Message {
	if m, ok := l.messages.Get().(*wire.Message); ok {
		return m
	}
	return &wire.Message{}
}

// baseHeader gives the headers of every request to a server. Credentials come first, and
// lose their protocol headers: stored credentials must not change what the protocol says.
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

// requestHeader gives the headers of one POST with an HTTP client.
func (l *httpLink) requestHeader(method string, params []byte) http.Header {
	h := maps.Clone(l.currentHeader()) // the values are shared and never changed
	for _, f := range l.appendFields(nil, method, params) {
		h[f.Name] = []string{f.Value}
	}
	return h
}

// appendFields appends the header fields of one POST beyond those of the link: the trace,
// and for modern servers the method and name of the request.
func (l *httpLink) appendFields(dst []httpfast.HeaderField, method string, params []byte) []httpfast.HeaderField {
	if l.opts.SendTraceHeaders {
		dst = appendTrace(dst, params)
	}
	if !l.modernEra {
		return dst
	}
	dst = append(dst, httpfast.HeaderField{Name: wire.HeaderMethod, Value: method})
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
		name, _ := wire.String(wire.Get(params, "name"))
		dst = append(dst, httpfast.HeaderField{Name: wire.HeaderName, Value: wire.EncodeHeader(name)})
		if method == wire.MethodToolsCall && l.paramHeaders != nil {
			dst = appendMirrors(dst, l.paramHeaders(name), params)
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

// appendTrace appends the trace of a call, for servers that read it from headers alone.
func appendTrace(dst []httpfast.HeaderField, params []byte) []httpfast.HeaderField {
	meta := wire.Get(params, "_meta")
	for _, f := range [...]struct{ key, name string }{{wire.MetaTraceparent, "Traceparent"}, {wire.MetaTracestate, "Tracestate"}} {
		value, _ := wire.String(wire.Get(meta, f.key))
		if value != "" && wire.EncodeHeader(value) == value { // leave out values that a header cannot hold
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

// sendHTTP makes one HTTP request. Errors are *junctor.Error. The caller must close the
// body.
func sendHTTP(ctx context.Context, client *http.Client, method, url string, h http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot create the request: %w", err)
	}
	req.Header = h
	resp, err := client.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	return resp, nil
}

// transportError gives an error of an HTTP client its code. egress has done so already,
// unless the client's own time-out came first.
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
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "the connection to the server was lost", Cause: err}
}

// roundTrip implements link.
func (l *httpLink) roundTrip(ctx context.Context, method string, params []byte, handler messageHandler) ([]byte, error) {
	return l.roundTripInto(ctx, method, params, handler, nil, l.opts.serverParty())
}

// roundTripInto is roundTrip with a buffer for the answer, which may be nil, and the
// party whose byte budget pays for it. It writes to the spare capacity of params.
func (l *httpLink) roundTripInto(ctx context.Context, method string, params []byte, handler messageHandler, buffer *[]byte, party limit.Party) ([]byte, error) {
	x := &httpExchange{link: l, handler: handler, buffer: buffer, party: party}
	defer x.closeExchange()
	if err := l.pending.registerCall(&x.call, x, params, handler); err != nil {
		return nil, err
	}
	defer l.pending.endCall(&x.call)
	x.id = x.call.id
	resp, err := x.postRequest(ctx, method, params)
	var result []byte
	if err == nil {
		result, err = x.readResult(ctx, resp)
	}
	if err != nil && l.ctx.Err() != nil {
		return nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "the session with the server was closed while the call ran", Cause: errInterrupted}
	}
	if err != nil && ctx.Err() != nil {
		l.cancelRequest(x.id, method) //nolint:contextcheck // the notice must go out although the call's context has ended
	}
	return result, err
}

// cancelRequest notifies a legacy server that nobody waits for a request any more. A
// modern one sees it from the closed stream.
func (l *httpLink) cancelRequest(id []byte, method string) {
	if l.modernEra || method == wire.MethodInitialize {
		return
	}
	l.background.start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
		defer cancel()
		_ = l.notify(ctx, wire.NotificationCancelled, cancelParams(id)) // nobody waits for the outcome
	})
}

// cancelParams are the params of a cancellation notice.
func cancelParams(id []byte) []byte {
	return append(append([]byte(`{"requestId":`), id...), `,"reason":"the caller no longer waits"}`...)
}

// notify implements link.
func (l *httpLink) notify(ctx context.Context, method string, params []byte) error {
	return l.postOneWay(ctx, method, params, wire.AppendNotification(nil, method, params))
}

// postOneWay sends a message without an answer: a notification, or a response. method and
// params are those of a notification, for the headers.
func (l *httpLink) postOneWay(ctx context.Context, method string, params, message []byte) error {
	x := &httpExchange{link: l}
	defer x.closeExchange()
	resp, err := x.postMessage(ctx, method, params, message)
	if err != nil {
		return err
	}
	defer discardBody(resp.body)
	if resp.status >= 300 {
		return l.statusError(resp)
	}
	return nil
}

// answerServerRequest answers a request of the server. ctx is that of the stream it came
// on, and ends the request with it.
func (l *httpLink) answerServerRequest(ctx context.Context, m *wire.Message, handler messageHandler, refused *wire.Error) {
	l.serverRequests.startAnswer(ctx, m, handler, l.opts.checkServerRequest(m, refused), func(ctx context.Context, message []byte) {
		if err := l.postOneWay(ctx, "", nil, message); err != nil {
			l.opts.limits.warnOnce(l.opts.Logger, "cannot send the answer to a request of a server", "server", l.opts.ID, "error", err)
		}
	})
}

// close implements link. It also ends the session at the server.
func (l *httpLink) close() error {
	l.cancel() // first: calls that fail from here on report that the link was closed
	l.pending.failAll(&junctor.Error{Code: junctor.CodeUnavailable, Message: "the session with the server was closed", Cause: errInterrupted})
	l.serverRequests.close()
	l.background.close()
	if !l.hasSession {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
	defer cancel()
	resp, err := sendHTTP(ctx, l.opts.Client, http.MethodDelete, l.opts.URL.String(), l.currentHeader(), nil) //nolint:bodyclose // finish does
	if err != nil {
		return err
	}
	discardBody(resp.Body)
	return nil
}
