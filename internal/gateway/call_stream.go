package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// callStream speaks for a legacy call while that runs: it serves the stream of the call
// from another goroutine once something is sent on it, or the call takes long. Most
// calls have nothing to say but their answer.
type callStream struct {
	gateway  *Gateway
	w        http.ResponseWriter
	r        *http.Request
	exchange *exchange
	stream   *stream

	openTimer *time.Timer // a client should not wait longer than this without a sign
	mu        sync.Mutex
	callEnded bool          // the call has ended: nothing is begun any more
	served    chan struct{} // closed when the stream was served; nil where that was not begun
}

// newCallStream gives the call of an exchange its stream.
func (g *Gateway) newCallStream(w http.ResponseWriter, r *http.Request, x *exchange) *callStream {
	v := &callStream{gateway: g, w: w, r: r, exchange: x}
	v.stream = x.session.newPostStream(g.options.Now, v.openResponse)
	x.sender = v.stream
	v.openTimer = time.AfterFunc(min(g.options.KeepAlive, g.options.PollAfter), v.openResponse)
	return v
}

// openResponse makes the answer a stream, unless it is one or the call has ended.
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
	if begun { // else all is stopping, and the answer is the one thing that is still said
		v.served = served
	}
}

// writeResponse writes the stream to the answer of its POST.
func (v *callStream) writeResponse() {
	s := v.exchange.session
	polls := s.version >= wire.V20251125
	s.keepStream(v.stream)
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

// endCall says that the call has ended, and whether nothing was said before: the answer
// of the POST is the caller's then.
func (v *callStream) endCall() (silent bool) {
	v.openTimer.Stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.callEnded = true
	return v.served == nil
}

// awaitServed comes back when the stream, which has ended, was served to its end.
func (v *callStream) awaitServed() {
	if v.served == nil {
		v.writeResponse()
		return
	}
	<-v.served
}

// endResponse ends an answer whose handler still works on what the client will come back
// for. Over HTTP/2 it stays open until then.
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
