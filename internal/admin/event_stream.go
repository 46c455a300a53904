package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// eventStream writes an answer of server-sent events. Its head is written with the first
// event: until then the answer can still become an error. Its methods may be called from
// any goroutine.
//
// Write errors are dropped: a client that has gone is noticed by the request's context.
type eventStream struct {
	mu          sync.Mutex
	headWritten bool
	w           http.ResponseWriter
	rc          *http.ResponseController
}

// newEventStream returns a stream over w that has written nothing yet.
func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, rc: http.NewResponseController(w)}
}

// hasBegun reports whether the head was written, after which an error has to be an event.
func (e *eventStream) hasBegun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.headWritten
}

// writeHead writes status and headers, once. The caller holds mu. X-Accel-Buffering keeps
// nginx from collecting events.
func (e *eventStream) writeHead() {
	if e.headWritten {
		return
	}
	e.headWritten = true
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
}

// sendEvent writes one event with a name and flushes it.
func (e *eventStream) sendEvent(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`{"code":"internal","detail":"cannot write the response"}`)
	}
	e.send(slices.Concat([]byte("event: "+name+"\ndata: "), b, []byte("\n\n")))
}

// send writes the text of events and flushes it. It keeps no reference to the text.
func (e *eventStream) send(text []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeHead()
	_, _ = e.w.Write(text)
	_ = e.rc.Flush()
}

// sendData writes events without a name, as AG-UI has them, and flushes them together.
func (e *eventStream) sendData(texts ...json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeHead()
	for _, text := range texts {
		_, _ = e.w.Write(slices.Concat([]byte("data: "), text, []byte("\n\n")))
	}
	_ = e.rc.Flush()
}

// sendKeepAlive writes a comment, so that clients and proxies see that the stream is
// alive. On a new stream it also writes the head.
func (e *eventStream) sendKeepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeHead()
	_, _ = e.w.Write([]byte(": still here\n\n"))
	_ = e.rc.Flush()
}

// Progress implements RunSink.
func (e *eventStream) Progress(params []byte) { e.sendEvent("progress", json.RawMessage(params)) }

// Log implements RunSink.
func (e *eventStream) Log(level string, params []byte) {
	e.sendEvent("log", json.RawMessage(`{"level":`+strconv.Quote(level)+`,"params":`+string(params)+`}`))
}
