package gateway

import (
	"net/http"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// voice speaks for a legacy call while that runs: it serves the stream of the call
// from another goroutine once something is sent on it, or the call takes long. Most
// calls have nothing to say but their answer.
type voice struct {
	g  *Gateway
	w  http.ResponseWriter
	r  *http.Request
	x  *exchange
	st *stream

	late   *time.Timer // a client should not wait longer than this without a sign
	mu     sync.Mutex
	over   bool          // the call has ended: nothing is begun any more
	served chan struct{} // closed when the stream was served; nil where that was not begun
}

// voice gives the call of an exchange its stream.
func (g *Gateway) voice(w http.ResponseWriter, r *http.Request, x *exchange) *voice {
	v := &voice{g: g, w: w, r: r, x: x}
	v.st = x.s.newPost(g.o.Now, v.speak)
	x.out = v.st
	v.late = time.AfterFunc(min(g.o.KeepAlive, g.o.PollAfter), v.speak)
	return v
}

// speak makes the answer a stream, unless it is one or the call has ended.
func (v *voice) speak() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over || v.served != nil {
		return
	}
	served := make(chan struct{})
	begun := v.g.work.start(func() {
		defer close(served)
		v.serve()
	})
	if begun { // else all is stopping, and the answer is the one thing that is still said
		v.served = served
	}
}

// serve writes the stream to the answer of its POST.
func (v *voice) serve() {
	s := v.x.s
	polls := s.version >= wire.V20251125
	s.keep(v.st)
	v.g.duplicate(s, v.st, v.x.m.ID)
	v.g.startSSE(v.w)
	if polls {
		v.g.prime(v.w, v.st)
	}
	v.g.serveStream(v.w, v.r, v.st, 0, polls && v.r.ProtoMajor == 1)
	if ended, _ := v.st.ended(); !ended {
		hangUp(v.w, v.r)
	}
}

// end says that the call has ended, and whether nothing was said before: the answer
// of the POST is the caller's then.
func (v *voice) end() (silent bool) {
	v.late.Stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	return v.served == nil
}

// last comes back when the stream, which has ended, was served to its end.
func (v *voice) last() {
	if v.served == nil {
		v.serve()
		return
	}
	<-v.served
}

// hangUp ends an answer whose handler still works on what the client will come back
// for. Over HTTP/2 it stays open until then.
func hangUp(w http.ResponseWriter, r *http.Request) {
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
