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
	prefix string // what its id begins with
	number int    // and ends with; 0 is nothing
	now    func() time.Time

	mu           sync.Mutex
	events       [][]byte
	firstEvent   [1][]byte // where events begin: most streams have one
	droppedCount int       // events that were let go: event n is events[n-1-dropped]
	byteSize     int
	isEnded      bool
	endedAt      time.Time
	changed      chan struct{} // closed at every change; made when somebody waits
	readerID     int           // who reads: a newer one ends the former
	hasReader    bool

	hasAnswer bool        // the last event is the answer
	replay    *replayCopy // where messages are kept as well; nil is nowhere

	onSend func() // called when something was sent; nil is nobody
}

func newStream(of string, n int, now func() time.Time) *stream {
	s := &stream{prefix: of, number: n, now: now}
	s.events = s.firstEvent[:0]
	return s
}

// id names the stream in the session. Few are ever asked for by it.
func (s *stream) id() string {
	if s.number == 0 {
		return s.prefix
	}
	return s.prefix + strconv.Itoa(s.number)
}

// sendMessage adds a message.
func (s *stream) sendMessage(message []byte) {
	s.addEvent(bytes.Clone(message))
	if s.onSend != nil {
		s.onSend()
	}
}

// finishWith adds the last message, which it keeps, and ends the stream.
func (s *stream) finishWith(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEnded {
		return
	}
	s.hasAnswer = true
	s.appendEvent(message)
	s.isEnded, s.endedAt = true, s.now()
}

func (s *stream) addEvent(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isEnded {
		s.appendEvent(message)
	}
}

// appendEvent adds a message. The caller holds the lock.
func (s *stream) appendEvent(message []byte) {
	s.events = append(s.events, message)
	s.byteSize += len(message)
	if s.replay != nil {
		s.replay.addMessage(s.droppedCount+len(s.events), message, s.hasAnswer)
	}
	for s.byteSize > maxStreamBytes && len(s.events) > 1 {
		s.byteSize -= len(s.events[0])
		s.events, s.droppedCount = s.events[1:], s.droppedCount+1
	}
	s.wakeReader()
}

// endStream closes the stream behind its last message.
func (s *stream) endStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isEnded {
		s.isEnded, s.endedAt = true, s.now()
		s.wakeReader()
	}
}

func (s *stream) wakeReader() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// endState says whether the stream has ended, and when.
func (s *stream) endState() (bool, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEnded, s.endedAt
}

// isStale says whether the stream ended so long ago that nobody will ask for it.
func (s *stream) isStale(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEnded && now.Sub(s.endedAt) > streamRetention
}

func (s *stream) isRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasReader
}

// attachReader makes the caller the one reader: a message goes on one connection only.
func (s *stream) attachReader() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerID++
	s.hasReader = true
	s.wakeReader()
	return s.readerID
}

func (s *stream) detachReader(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readerID == reader {
		s.hasReader = false
	}
}

// eventsAfter gives the events behind number n, and what to wait for.
func (s *stream) eventsAfter(n, reader int) (events [][]byte, first int, over bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.readerID {
		return nil, n, true, nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	from := max(n-s.droppedCount, 0)
	return s.events[min(from, len(s.events)):], from + s.droppedCount + 1, s.isEnded, s.changed
}

func (s *stream) formatEventID(n int) string { return s.id() + "-" + strconv.Itoa(n) }

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
	reader := s.attachReader()
	defer s.detachReader(reader)
	quiet := time.NewTicker(g.options.KeepAlive)
	defer quiet.Stop()
	var leave <-chan time.Time
	if poll {
		t := time.NewTimer(g.options.PollAfter)
		defer t.Stop()
		leave = t.C
	}
	var buf []byte
	for {
		events, first, over, wake := s.eventsAfter(n, reader)
		buf = buf[:0]
		for i, e := range events {
			n = first + i
			buf = wire.AppendEvent(buf, wire.Event{ID: s.formatEventID(n), HasID: true, Data: e})
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

// sendPrimingEvent sends the empty event that gives a client an id to come back with.
func (g *Gateway) sendPrimingEvent(w http.ResponseWriter, s *stream) {
	b := wire.AppendEvent(nil, wire.Event{ID: s.formatEventID(0), HasID: true, Data: []byte{}, Retry: 1000, HasRetry: true})
	_, _ = w.Write(b)
	_ = http.NewResponseController(w).Flush()
}
