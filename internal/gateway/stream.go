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

// maxStreamBytes bounds the events that a stream keeps for a client that resumes it.
const maxStreamBytes = 4 << 20

// stream is the event stream of one legacy request, or the notification stream of a
// session. It keeps its events, so that a client that lost its connection can resume
// after the last event that it received.
type stream struct {
	prefix string // beginning of its id
	number int    // end of its id; 0 if there is none
	now    func() time.Time

	mu           sync.Mutex
	events       [][]byte
	firstEvent   [1][]byte // initial memory of events: most streams have one
	droppedCount int       // events that were dropped: event n is events[n-1-droppedCount]
	byteSize     int       // of events
	isEnded      bool
	endedAt      time.Time
	changed      chan struct{} // closed at every change; made when a reader waits
	readerID     int           // the current reader: a newer reader replaces the former
	hasReader    bool

	hasAnswer bool        // the last event is the response
	replay    *replayCopy // stores the events as well; nil if nothing does

	onSend func() // called after each message; nil calls nothing
}

// newStream makes a stream whose id is prefix and n.
func newStream(prefix string, n int, now func() time.Time) *stream {
	s := &stream{prefix: prefix, number: n, now: now}
	s.events = s.firstEvent[:0]
	return s
}

// id returns the id of the stream within its session. It is built on demand, since few
// streams are ever looked up.
func (s *stream) id() string {
	if s.number == 0 {
		return s.prefix
	}
	return s.prefix + strconv.Itoa(s.number)
}

// sendMessage adds a copy of a message.
func (s *stream) sendMessage(message []byte) {
	s.addEvent(bytes.Clone(message))
	if s.onSend != nil {
		s.onSend()
	}
}

// finishWith adds the response as the last message, which it keeps, and ends the stream.
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

// addEvent adds a message, unless the stream has ended.
func (s *stream) addEvent(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isEnded {
		s.appendEvent(message)
	}
}

// appendEvent adds a message and drops the oldest ones if there are too many bytes. The
// caller holds s.mu.
func (s *stream) appendEvent(message []byte) {
	s.events = append(s.events, message)
	s.byteSize += len(message)
	if s.replay != nil {
		s.replay.addMessage(s.droppedCount+len(s.events), message, s.hasAnswer)
	}
	// The newest event always stays: a response must be deliverable, however long.
	for s.byteSize > maxStreamBytes && len(s.events) > 1 {
		s.byteSize -= len(s.events[0])
		s.events, s.droppedCount = s.events[1:], s.droppedCount+1
	}
	s.wakeReader()
}

// endStream ends the stream after its last message.
func (s *stream) endStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isEnded {
		s.isEnded, s.endedAt = true, s.now()
		s.wakeReader()
	}
}

// wakeReader tells the reader that something has changed. The caller holds s.mu.
func (s *stream) wakeReader() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// endState reports whether the stream has ended, and when.
func (s *stream) endState() (bool, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEnded, s.endedAt
}

// isStale reports whether the stream ended so long ago that no client will resume it.
func (s *stream) isStale(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEnded && now.Sub(s.endedAt) > streamRetention
}

// isRead reports whether a client is connected to the stream.
func (s *stream) isRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasReader
}

// attachReader makes the caller the only reader, because a message must be sent on one
// connection only. The caller must pass the result to detachReader.
func (s *stream) attachReader() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerID++
	s.hasReader = true
	s.wakeReader()
	return s.readerID
}

// detachReader ends a reader, unless a newer one has replaced it.
func (s *stream) detachReader(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readerID == reader {
		s.hasReader = false
	}
}

// eventsAfter returns the events after number n and the number of the first of them. over
// is true if the stream has ended or a newer reader has come. wake is closed at the next
// change.
func (s *stream) eventsAfter(n, reader int) (events [][]byte, first int, over bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.readerID { // a newer connection reads this stream
		return nil, n, true, nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	// Events before the kept ones are lost; continue with the oldest that is left.
	from := max(n-s.droppedCount, 0)
	return s.events[min(from, len(s.events)):], from + s.droppedCount + 1, s.isEnded, s.changed
}

// formatEventID returns the id of event n.
func (s *stream) formatEventID(n int) string { return s.id() + "-" + strconv.Itoa(n) }

// parseEventID reads the id of an event: its stream, and its number.
func parseEventID(id string) (streamID string, n int, ok bool) {
	streamID, num, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(num)
	return streamID, n, ok && err == nil && n >= 0
}

// serveStream writes the events of a stream after number n to a response that has begun.
// It returns when the stream ends, the client disconnects or a newer reader comes. With
// poll it also returns after PollAfter: the client was told when to come back.
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

// sendPrimingEvent sends an empty event, which gives the client an id to resume with and
// the time after which to reconnect.
func (g *Gateway) sendPrimingEvent(w http.ResponseWriter, s *stream) {
	b := wire.AppendEvent(nil, wire.Event{ID: s.formatEventID(0), HasID: true, Data: []byte{}, Retry: 1000, HasRetry: true})
	_, _ = w.Write(b)
	_ = http.NewResponseController(w).Flush()
}
