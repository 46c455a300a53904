package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// runs says whether a method reaches a backend and so may take time, send notes
// or ask its client something.
func runs(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodCompletionComplete,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel:
		return true
	}
	return false
}

// requestLegacy answers a request of a session. What reaches a backend runs in a
// goroutine of its own: a legacy client that loses its connection has not
// cancelled, and may come back for the answer.
//
//nolint:contextcheck // the call outlives its request
func (g *Gateway) requestLegacy(w http.ResponseWriter, r *http.Request, x *exchange, in *inbound, streamFirst bool) {
	if !runs(x.m.Method) {
		x.answerAtOnce(r.Context(), &reply{g: g, w: w, streamFirst: streamFirst}, in)
		g.release(in)
		return
	}
	st := x.s.newPost(g.o.Now)
	x.out = st
	x.page, _ = g.pages.Get().(*page)
	if x.page == nil {
		x.page = &page{}
	}
	ctx, cancel := context.WithCancel(g.ctx)
	run := x.s.begin(x.m.ID, cancel)
	wait := g.waiter()
	answer := wait.answer
	started := g.work.start(func() {
		defer g.release(in)
		defer cancel()
		defer x.s.done(x.m.ID, run)
		var retry time.Duration
		message := g.answering(x.m.ID, func() (message []byte) {
			message, retry = x.answerLegacy(ctx)
			return message
		})
		answer <- answered{message, retry}
		st.finish(message)
	})
	if !started {
		cancel()
		x.s.done(x.m.ID, run)
		g.refuse(w, http.StatusServiceUnavailable, x.m.ID, &wire.Error{Code: codeUnavailable, Message: "the server is stopping; try again"})
		return
	}
	g.awaitLegacy(w, r, x, st, wait, streamFirst)
}

// waiter is what waits for the end of a legacy call. It is used again.
type waiter struct {
	answer chan answered // holds one
	slow   *time.Timer   // a client should not wait longer than this without a sign
}

func (g *Gateway) waiter() *waiter {
	after := min(g.o.KeepAlive, g.o.PollAfter)
	if w, ok := g.waiters.Get().(*waiter); ok {
		w.slow.Reset(after)
		return w
	}
	return &waiter{answer: make(chan answered, 1), slow: time.NewTimer(after)}
}

// answerAtOnce answers what needs no backend.
func (x *exchange) answerAtOnce(ctx context.Context, rep *reply, in *inbound) {
	o, err := x.runLegacy(ctx)
	switch {
	case err != nil:
		f := asFault(err, false, resourceOf(x.m))
		setRetry(rep.w.Header(), f.retryAfter)
		rep.finish(http.StatusOK, wire.AppendError(nil, x.m.ID, f.wire))
	case o.list:
		head, list := x.appendHead(in.answer[:0], o)
		in.answer = head
		rep.finishList(head, list)
	default:
		rep.finish(http.StatusOK, x.appendAnswer(nil, o))
	}
}

// answered is the end of a legacy call.
type answered struct {
	message []byte
	retry   time.Duration
}

// awaitLegacy gives the client its answer as JSON if that is all there is to
// say, and as a stream once something is sent before it, or it takes long.
func (g *Gateway) awaitLegacy(w http.ResponseWriter, r *http.Request, x *exchange, st *stream, wait *waiter, streamFirst bool) {
	polls := x.s.version >= wire.V20251125
	select {
	case a := <-wait.answer:
		wait.slow.Stop()
		g.waiters.Put(wait) // empty, and nobody sends to it any more
		if !streamFirst && !st.spoke() {
			setRetry(w.Header(), a.retry)
			setLimits(w.Header(), x.allowance, g.o.Now())
			(&reply{g: g, w: w}).finish(http.StatusOK, a.message)
			g.turn(x.page, a.message) // nobody can come back for it: the stream was not kept
			return
		}
	case <-st.spoken():
		wait.slow.Stop()
	case <-wait.slow.C:
	case <-r.Context().Done():
		wait.slow.Stop()
		return
	}
	x.s.keep(st)
	g.startSSE(w)
	if polls {
		g.prime(w, st)
	}
	g.serveStream(w, r, st, 0, polls)
}

// turn takes a page back on which an answer was written that nobody reads any
// more.
func (g *Gateway) turn(p *page, message []byte) {
	if cap(message) <= 1<<20 {
		p.b = message
		g.pages.Put(p)
	}
}

// newPost makes the stream of one POST.
func (s *session) newPost(now func() time.Time) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextPost++
	return newStream(s.posts, s.nextPost, now)
}

// maxKeptStreams bounds how many streams of a session wait to be resumed: one
// that makes many calls must not fill the memory with their answers.
const maxKeptStreams = 64

// keep lets the client resume a stream, and forgets the one that ended first
// where there are too many.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st.id()] = st
	if len(s.streams) <= maxKeptStreams {
		return
	}
	var oldest *stream
	var at time.Time
	for _, other := range s.streams {
		if ended, when := other.ended(); ended && (oldest == nil || when.Before(at)) {
			oldest, at = other, when
		}
	}
	if oldest != nil {
		delete(s.streams, oldest.id())
	}
}
