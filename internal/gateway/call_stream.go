package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// callStream serves the event stream of a legacy call while the call runs. It starts to
// write the stream, in another goroutine, when the first message is sent or the call
// takes long. Most calls send nothing but their response, which then goes out as plain
// JSON without this goroutine.
type callStream struct {
	gateway  *Gateway
	w        http.ResponseWriter
	r        *http.Request
	exchange *exchange
	stream   *stream

	openTimer *time.Timer // opens the stream of a quiet call, so that the client sees a sign of life
	mu        sync.Mutex
	callEnded bool          // the stream is not opened any more
	served    chan struct{} // closed after the stream was written; nil if it was not opened
}

// newCallStream gives the call of an exchange its stream. The caller must call endCall.
func (g *Gateway) newCallStream(w http.ResponseWriter, r *http.Request, x *exchange) *callStream {
	v := &callStream{gateway: g, w: w, r: r, exchange: x}
	v.stream = x.session.newPostStream(g.options.Now, v.openResponse)
	x.sender = v.stream
	v.openTimer = time.AfterFunc(min(g.options.KeepAlive, g.options.PollAfter), v.openResponse)
	return v
}

// openResponse makes the HTTP response a stream, unless it is one or the call has ended.
func (v *callStream) openResponse() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.callEnded || v.served != nil {
		return
	}
	served := make(chan struct{})
	begun := v.gateway.background.startWork(func() {
		defer close(served)
		v.writeResponse()
	})
	if begun { // otherwise the gateway is closing, and only the response is still sent
		v.served = served
	}
}

// writeResponse writes the stream to the response of its POST. It returns when the stream
// ends, or earlier if the client is told to poll.
func (v *callStream) writeResponse() {
	s := v.exchange.session
	polls := s.version >= wire.V20251125
	s.keepStream(v.stream)
	// From here on the client may come back to any replica.
	v.gateway.copyStream(s, v.stream, v.exchange.message.ID)
	v.gateway.startEventStream(v.w)
	if polls {
		v.gateway.sendPrimingEvent(v.w, v.stream)
	}
	v.gateway.serveStream(v.w, v.r, v.stream, 0, polls && v.r.ProtoMajor == 1)
	if ended, _ := v.stream.endState(); !ended {
		endResponse(v.w, v.r)
	}
}

// endCall says that the call has ended. It returns true if the stream was not opened; the
// caller must then write the response of the POST.
func (v *callStream) endCall() (silent bool) {
	v.openTimer.Stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.callEnded = true
	return v.served == nil
}

// awaitServed returns after the stream, which has ended, was written completely.
func (v *callStream) awaitServed() {
	if v.served == nil {
		v.writeResponse()
		return
	}
	<-v.served
}

// endResponse ends an HTTP response while its handler still runs, so that the client can
// reconnect and resume the stream. Over HTTP/2 the response stays open until the handler
// returns.
func endResponse(w http.ResponseWriter, r *http.Request) {
	if own, ok := w.(interface{ HangUp() }); ok {
		own.HangUp()
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if r.ProtoAtLeast(1, 1) {
		_, _ = buf.WriteString("0\r\n\r\n") // the last chunk
		_ = buf.Flush()
	}
	_ = conn.Close()
}
