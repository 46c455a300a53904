package httpfast

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBuffered is how many bytes of a response are held back until the handler
// returns. A response that is no longer leaves in one write, with its length.
const maxBuffered = 4 << 10

// maxReusedBuffer is the largest buffer that is kept for later responses.
const maxReusedBuffer = 64 << 10

// errRequestEnded is the error of writes after the handler has returned.
var errRequestEnded = errors.New("the request has ended")

// responseBuffer is the memory that a response is built in. Handlers never see it, so
// it is used again.
type responseBuffer struct {
	head, body []byte    // not sent yet
	parts      [3][]byte // what vec points to, so that a vectored write allocates nothing
	vec        net.Buffers
}

// responseWriter is one request and the writer of its response. It behaves as that of
// net/http, except that it sends no informational responses and cannot be hijacked.
//
// Each request gets a new one. A handler that keeps it for too long gets
// errRequestEnded, and never writes into the response of the next request.
type responseWriter struct {
	conn    *serverConn
	request *http.Request
	url     url.URL
	cancel  context.CancelFunc
	body    requestBody

	mu             sync.Mutex
	done           bool
	header         http.Header
	buffer         *responseBuffer // nil before WriteHeader and after finishResponse
	status         int
	declaredLength int64 // Content-Length as the handler set it; -1: not set
	written        int64
	headComplete   bool // from then on the head cannot change
	chunked        bool
	closeAfter     bool // the connection ends after the response
	hasContentType bool // or the response needs none
	hasDate        bool
	hasDeadline    bool // a deadline was set on the socket
	err            error
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status)
}

// writeHeader renders the status line and the header. It leaves out the fields that
// say how the response is framed: completeHead decides those. The caller holds mu.
func (w *responseWriter) writeHeader(status int) {
	if w.done || w.status != 0 || status < 200 || status > 999 {
		return // informational responses are not sent
	}
	w.status = status
	w.buffer, _ = w.conn.server.buffers.Get().(*responseBuffer)
	b := w.buffer.head[:0]
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	text := http.StatusText(status)
	if text == "" {
		text = "status code " + strconv.Itoa(status)
	}
	b = append(append(append(b, ' '), text...), crlf...)
	w.hasContentType = !allowsBody(status)
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			if n, err := strconv.ParseInt(firstValue(values), 10, 64); err == nil && n >= 0 && allowsBody(status) {
				w.declaredLength = n
			}
			continue
		case "Transfer-Encoding", "Trailer":
			continue // completeHead decides the framing
		case "Connection":
			if strings.EqualFold(firstValue(values), "close") {
				w.closeAfter = true
				continue
			}
		case "Content-Type":
			if w.hasContentType && status == http.StatusNotModified {
				continue
			}
			w.hasContentType = true
		case "Content-Encoding":
			w.hasContentType = w.hasContentType || firstValue(values) != ""
		case "Date":
			w.hasDate = true
		}
		b = appendHeaderLines(b, name, values)
	}
	w.buffer.head, w.buffer.body = b, w.buffer.body[:0]
}

func firstValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// appendHeaderLines appends the lines of one header. Line ends in a value become
// blanks, and an invalid name is left out, so no value can add a line of its own
// (response splitting).
func appendHeaderLines(b []byte, name string, values []string) []byte {
	for i := range len(name) {
		if !isTokenByte(name[i]) {
			return b
		}
	}
	if name == "" {
		return b
	}
	for _, v := range values {
		b = append(append(b, name...), ": "...)
		from := len(b)
		b = append(b, strings.Trim(v, " \t\r\n")...)
		if strings.ContainsAny(v, crlf) {
			for i, c := range b[from:] {
				if c == '\r' || c == '\n' {
					b[from+i] = ' '
				}
			}
		}
		b = append(b, crlf...)
	}
	return b
}

// allowsBody reports whether a response with this status may have a body.
func allowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return 0, errRequestEnded
	}
	if w.status == 0 {
		w.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !allowsBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	w.written += int64(len(p)) // counted even if too much: finishResponse closes the connection then
	switch {
	case w.declaredLength >= 0 && w.written > w.declaredLength:
		return 0, http.ErrContentLength
	case w.err != nil:
		return 0, w.err
	}
	if len(w.buffer.body)+len(p) <= maxBuffered {
		w.buffer.body = append(w.buffer.body, p...)
		return len(p), nil
	}
	if err := w.sendBuffered(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return errRequestEnded
	}
	if w.status == 0 {
		w.writeHeader(http.StatusOK)
	}
	return w.sendBuffered(nil, false)
}

// completeHead decides how the response is framed and whether the connection stays,
// and ends the head. p is the part of the body that follows the buffered one; last
// says that nothing follows p. The caller holds mu.
func (w *responseWriter) completeHead(p []byte, last bool) {
	w.headComplete = true
	b := w.buffer.head
	if !w.closeAfter && w.body.conn != nil && !w.body.drainRest() {
		w.closeAfter = true
	}
	if !w.hasContentType {
		if some := w.buffer.body; len(some)+len(p) > 0 {
			if len(some) == 0 {
				some = p
			}
			b = append(append(append(b, "Content-Type: "...), http.DetectContentType(some)...), crlf...)
		}
	}
	if !w.hasDate {
		b = append(w.conn.server.appendDate(append(b, "Date: "...)), crlf...)
	}
	switch {
	case !allowsBody(w.status):
	case w.declaredLength >= 0 || last:
		if w.declaredLength < 0 {
			w.declaredLength = w.written
		}
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), w.declaredLength, 10), crlf...)
	default:
		w.chunked = true
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if w.closeAfter = w.closeAfter || w.conn.server.isStopping.Load(); w.closeAfter {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, crlf...)
	w.buffer.head = b
}

// sendBuffered writes the head, if it is not sent yet, the buffered body, and p.
// A p above maxBuffered is not copied: it leaves in a vectored write. The caller
// holds mu.
func (w *responseWriter) sendBuffered(p []byte, last bool) error {
	if w.err != nil {
		return w.err
	}
	if !w.headComplete {
		w.completeHead(p, last)
	}
	b, pending := w.buffer.head, w.buffer.body
	n := len(pending) + len(p)
	if w.chunked && n > 0 {
		b = append(strconv.AppendInt(b, int64(n), 16), crlf...)
	}
	b = append(b, pending...)
	if len(p) <= maxBuffered {
		b, p = append(b, p...), nil
	}
	before := len(b)
	if w.chunked && n > 0 {
		b = append(b, crlf...)
	}
	if w.chunked && last {
		b = append(b, "0\r\n\r\n"...)
	}
	w.buffer.head, w.buffer.body = b[:0], pending[:0]
	if len(b) > 0 || len(p) > 0 {
		w.err = w.writeSocket(b[:before], p, b[before:])
	}
	return w.err
}

// writeSocket writes b, then p, which may be nil, and then the end of a chunk, which
// follows b in memory. If that fails, it cancels the request as net/http does: nobody
// reads the response.
func (w *responseWriter) writeSocket(b, p, end []byte) (err error) {
	if p == nil {
		_, err = w.conn.tcp.Write(b[:len(b)+len(end)])
	} else {
		w.buffer.parts = [3][]byte{b, p, end}
		w.buffer.vec = w.buffer.parts[:]
		_, err = w.buffer.vec.WriteTo(w.conn.tcp)
		w.buffer.parts = [3][]byte{}
	}
	if err != nil {
		w.closeAfter = true
		w.cancel()
	}
	return err
}

// finishResponse sends the rest of the response after the handler has returned. It
// reports whether the connection can take another request.
func (w *responseWriter) finishResponse() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 {
		w.writeHeader(http.StatusOK)
	}
	_ = w.sendBuffered(nil, true)
	w.done = true
	if w.hasDeadline {
		_ = w.conn.tcp.SetDeadline(time.Time{})
	}
	_ = w.body.Close()
	if w.declaredLength >= 0 && w.written != w.declaredLength || w.conn.server.isStopping.Load() {
		w.closeAfter = true
	}
	if cap(w.buffer.head) <= maxReusedBuffer && cap(w.buffer.body) <= maxReusedBuffer {
		w.conn.server.buffers.Put(w.buffer)
	}
	w.buffer = nil
	return !w.closeAfter && w.err == nil
}

// HangUp ends the response and closes the connection while the handler still runs.
// Later writes of the handler fail with errRequestEnded. The gateway finds it by an
// interface of its own.
func (w *responseWriter) HangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.err != nil {
		return
	}
	if w.status == 0 {
		w.writeHeader(http.StatusOK)
	}
	_ = w.sendBuffered(nil, true)
	w.closeAfter, w.err = true, errRequestEnded
	_ = w.conn.tcp.Close()
}

// SetReadDeadline bounds reading the body, for http.ResponseController. A body that
// arrived with its head needs no deadline on the socket.
func (w *responseWriter) SetReadDeadline(at time.Time) error {
	if w.body.conn == nil || w.body.isBuffered {
		return nil
	}
	return w.setDeadline(at, w.conn.tcp.SetReadDeadline)
}

// SetWriteDeadline bounds sending the response, for http.ResponseController.
func (w *responseWriter) SetWriteDeadline(at time.Time) error {
	return w.setDeadline(at, w.conn.tcp.SetWriteDeadline)
}

// setDeadline sets a deadline on the socket and remembers that finishResponse has to
// clear it. Clearing one that was never set costs nothing.
func (w *responseWriter) setDeadline(at time.Time, set func(time.Time) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return errRequestEnded
	}
	if at.IsZero() && !w.hasDeadline {
		return nil
	}
	w.hasDeadline = true
	return set(at)
}
