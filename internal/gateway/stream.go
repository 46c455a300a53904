package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxStreamBytes bounds what a stream keeps for a client that comes back.
const maxStreamBytes = 4 << 20

// stream is the event stream of one legacy request, or of a session's notes. It
// keeps what was sent, so that a client that lost its connection can go on
// behind the last event it saw.
type stream struct {
	of  string // what its id begins with
	n   int    // and ends with; 0 is nothing
	now func() time.Time

	mu      sync.Mutex
	events  [][]byte
	only    [1][]byte // where events begin: most streams have one
	dropped int       // events that were let go: event n is events[n-1-dropped]
	size    int
	done    bool
	doneAt  time.Time
	wake    chan struct{} // closed at every change; made when somebody waits
	reader  int           // who reads: a newer one ends the former
	reading bool

	answered bool    // the last event is the answer
	copied   *copied // where messages are kept as well; nil is nowhere

	spoken func() // called when something was sent; nil is nobody
}

func newStream(of string, n int, now func() time.Time) *stream {
	s := &stream{of: of, n: n, now: now}
	s.events = s.only[:0]
	return s
}

// id names the stream in the session. Few are ever asked for by it.
func (s *stream) id() string {
	if s.n == 0 {
		return s.of
	}
	return s.of + strconv.Itoa(s.n)
}

// send adds a message.
func (s *stream) send(message []byte) {
	s.add(bytes.Clone(message))
	if s.spoken != nil {
		s.spoken()
	}
}

// finish adds the last message, which it keeps, and ends the stream.
func (s *stream) finish(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.answered = true
	s.put(message)
	s.done, s.doneAt = true, s.now()
}

func (s *stream) add(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.put(message)
	}
}

// put adds a message. The caller holds the lock.
func (s *stream) put(message []byte) {
	s.events = append(s.events, message)
	s.size += len(message)
	if s.copied != nil {
		s.copied.message(s.dropped+len(s.events), message, s.answered)
	}
	for s.size > maxStreamBytes && len(s.events) > 1 {
		s.size -= len(s.events[0])
		s.events, s.dropped = s.events[1:], s.dropped+1
	}
	s.signal()
}

// end closes the stream behind its last message.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done, s.doneAt = true, s.now()
		s.signal()
	}
}

func (s *stream) signal() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

// ended says whether the stream has ended, and when.
func (s *stream) ended() (bool, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done, s.doneAt
}

// stale says whether the stream ended so long ago that nobody will ask for it.
func (s *stream) stale(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done && now.Sub(s.doneAt) > streamRetention
}

func (s *stream) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// attach makes the caller the one reader: a message goes on one connection only.
func (s *stream) attach() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader++
	s.reading = true
	s.signal()
	return s.reader
}

func (s *stream) detach(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader {
		s.reading = false
	}
}

// after gives the events behind number n, and what to wait for.
func (s *stream) after(n, reader int) (events [][]byte, first int, over bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.reader {
		return nil, n, true, nil
	}
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	from := max(n-s.dropped, 0)
	return s.events[min(from, len(s.events)):], from + s.dropped + 1, s.done, s.wake
}

func (s *stream) eventID(n int) string { return s.id() + "-" + strconv.Itoa(n) }

// parseEventID reads an event id: which stream, and how far.
func parseEventID(id string) (streamID string, n int, ok bool) {
	streamID, num, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(num)
	return streamID, n, ok && err == nil && n >= 0
}

// serveStream writes a stream's events behind number n to an HTTP answer that
// has begun, until the stream ends, the client goes away, a newer reader comes,
// or, with poll set, it is time to let the connection go: the client was told
// when to come back.
func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request, s *stream, n int, poll bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{})
	reader := s.attach()
	defer s.detach(reader)
	quiet := time.NewTicker(g.o.KeepAlive)
	defer quiet.Stop()
	var leave <-chan time.Time
	if poll {
		t := time.NewTimer(g.o.PollAfter)
		defer t.Stop()
		leave = t.C
	}
	var buf []byte
	for {
		events, first, over, wake := s.after(n, reader)
		buf = buf[:0]
		for i, e := range events {
			n = first + i
			buf = wire.AppendEvent(buf, wire.Event{ID: s.eventID(n), HasID: true, Data: e})
		}
		if len(buf) > 0 {
			if _, err := w.Write(buf); err != nil {
				return
			}
			_ = rc.Flush()
		}
		if over {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		case <-g.ctx.Done():
			return
		case <-leave:
			return
		case <-quiet.C:
			if _, err := w.Write([]byte(":\n\n")); err != nil {
				return
			}
			_ = rc.Flush()
		}
	}
}

// prime sends the empty event that gives a client an id to come back with.
func (g *Gateway) prime(w http.ResponseWriter, s *stream) {
	b := wire.AppendEvent(nil, wire.Event{ID: s.eventID(0), HasID: true, Data: []byte{}, Retry: 1000, HasRetry: true})
	_, _ = w.Write(b)
	_ = http.NewResponseController(w).Flush()
}
