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

// maxBuffered is how much of an answer is held back: one that is no longer leaves
// in one piece, with its length.
const maxBuffered = 4 << 10

// maxReusedBuffer is the largest memory that is kept for further answers.
const maxReusedBuffer = 64 << 10

// errRequestEnded is told to who writes when the handler has returned.
var errRequestEnded = errors.New("the request has ended")

// responseBuffer is memory that an answer is written into.
type responseBuffer struct {
	head, body []byte
	parts      [2][]byte
	vec        net.Buffers
}

// responseWriter is one request and the writer of its answer. Nothing of it is used again:
// who holds it for too long writes into nothing.
type responseWriter struct {
	conn    *serverConn
	request *http.Request
	url     url.URL
	cancel  context.CancelFunc
	body    requestBody

	mu             sync.Mutex
	done           bool
	header         http.Header
	buffer         *responseBuffer // from WriteHeader on
	status         int
	declaredLength int64 // as the handler says; -1: it does not
	written        int64
	headComplete   bool // the head is complete
	chunked        bool
	closeAfter     bool // the connection ends behind the answer
	hasContentType bool // the answer says its type, or needs none
	hasDate        bool
	hasDeadline    bool // a deadline was set on the socket
	err            error
}

// Header is that of the answer.
func (t *responseWriter) Header() http.Header {
	if t.header == nil {
		t.header = make(http.Header)
	}
	return t.header
}

// WriteHeader takes the status and the header as it is now.
func (t *responseWriter) WriteHeader(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeHeader(status)
}

func (t *responseWriter) writeHeader(status int) {
	if t.done || t.status != 0 || status < 200 || status > 999 {
		return // informational ones are not sent
	}
	t.status = status
	t.buffer, _ = t.conn.server.buffers.Get().(*responseBuffer)
	b := t.buffer.head[:0]
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	text := http.StatusText(status)
	if text == "" {
		text = "status code " + strconv.Itoa(status)
	}
	b = append(append(append(b, ' '), text...), crlf...)
	t.hasContentType = !allowsBody(status)
	for name, values := range t.header {
		switch name {
		case "Content-Length":
			if n, err := strconv.ParseInt(firstValue(values), 10, 64); err == nil && n >= 0 && allowsBody(status) {
				t.declaredLength = n
			}
			continue
		case "Transfer-Encoding", "Trailer":
			continue // how the answer is sent is decided here
		case "Connection":
			if strings.EqualFold(firstValue(values), "close") {
				t.closeAfter = true
				continue
			}
		case "Content-Type":
			if t.hasContentType && status == http.StatusNotModified {
				continue
			}
			t.hasContentType = true
		case "Content-Encoding":
			t.hasContentType = t.hasContentType || firstValue(values) != ""
		case "Date":
			t.hasDate = true
		}
		b = appendHeaderLines(b, name, values)
	}
	t.buffer.head, t.buffer.body = b, t.buffer.body[:0]
}

func firstValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// appendHeaderLines writes a header's lines so that no value can make another line.
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

func allowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write takes a part of the answer.
func (t *responseWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return 0, errRequestEnded
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !allowsBody(t.status) {
		return 0, http.ErrBodyNotAllowed
	}
	t.written += int64(len(p)) // also if that is too much: then the connection ends
	switch {
	case t.declaredLength >= 0 && t.written > t.declaredLength:
		return 0, http.ErrContentLength
	case t.err != nil:
		return 0, t.err
	}
	if len(t.buffer.body)+len(p) <= maxBuffered {
		t.buffer.body = append(t.buffer.body, p...)
		return len(p), nil
	}
	if err := t.sendBuffered(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends what was written.
func (t *responseWriter) Flush() { _ = t.FlushError() }

// FlushError is Flush, and says what went wrong.
func (t *responseWriter) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errRequestEnded
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	return t.sendBuffered(nil, false)
}

// completeHead completes the head. last says that all of the answer is there.
func (t *responseWriter) completeHead(p []byte, last bool) {
	t.headComplete = true
	b := t.buffer.head
	if !t.closeAfter && t.body.conn != nil && !t.body.drainRest() {
		t.closeAfter = true
	}
	if !t.hasContentType {
		if some := t.buffer.body; len(some)+len(p) > 0 {
			if len(some) == 0 {
				some = p
			}
			b = append(append(append(b, "Content-Type: "...), http.DetectContentType(some)...), crlf...)
		}
	}
	if !t.hasDate {
		b = append(t.conn.server.appendDate(append(b, "Date: "...)), crlf...)
	}
	switch {
	case !allowsBody(t.status):
	case t.declaredLength >= 0 || last:
		if t.declaredLength < 0 {
			t.declaredLength = t.written
		}
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), t.declaredLength, 10), crlf...)
	default:
		t.chunked = true
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if t.closeAfter = t.closeAfter || t.conn.server.isStopping.Load(); t.closeAfter {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, crlf...)
	t.buffer.head = b
}

// sendBuffered writes the head, if that is not gone yet, what is pending, and p.
func (t *responseWriter) sendBuffered(p []byte, last bool) error {
	if t.err != nil {
		return t.err
	}
	if !t.headComplete {
		t.completeHead(p, last)
	}
	b, pending := t.buffer.head, t.buffer.body
	if n := len(pending) + len(p); t.chunked && n > 0 {
		b = append(strconv.AppendInt(b, int64(n), 16), crlf...)
	}
	b = append(b, pending...)
	tail := ""
	if t.chunked && len(pending)+len(p) > 0 {
		tail = crlf
	}
	if t.chunked && last {
		tail += "0\r\n\r\n"
	}
	if len(p) <= maxBuffered {
		b, p = append(b, p...), nil
		b, tail = append(b, tail...), ""
	}
	t.buffer.head, t.buffer.body = b[:0], pending[:0]
	if len(b) > 0 || len(p) > 0 {
		t.err = t.writeSocket(b, p)
	}
	if t.err == nil && tail != "" {
		t.buffer.head = append(t.buffer.head, tail...) // goes with what comes next
	}
	return t.err
}

func (t *responseWriter) writeSocket(b, p []byte) (err error) {
	if p == nil {
		_, err = t.conn.tcp.Write(b)
	} else {
		t.buffer.parts = [2][]byte{b, p}
		t.buffer.vec = t.buffer.parts[:]
		_, err = t.buffer.vec.WriteTo(t.conn.tcp)
		t.buffer.parts = [2][]byte{}
	}
	if err != nil {
		t.closeAfter = true
		t.cancel() // as net/http does: there is nobody to answer
	}
	return err
}

// finishResponse sends what is left of the answer, and says whether the connection can
// be used again.
func (t *responseWriter) finishResponse() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	_ = t.sendBuffered(nil, true)
	t.done = true
	if t.hasDeadline {
		_ = t.conn.tcp.SetDeadline(time.Time{})
	}
	_ = t.body.Close()
	if t.declaredLength >= 0 && t.written != t.declaredLength || t.conn.server.isStopping.Load() {
		t.closeAfter = true
	}
	if cap(t.buffer.head) <= maxReusedBuffer && cap(t.buffer.body) <= maxReusedBuffer {
		t.conn.server.buffers.Put(t.buffer)
	}
	t.buffer = nil
	return !t.closeAfter && t.err == nil
}

// HangUp ends the answer and the connection while the handler still works. What that
// writes from now on goes nowhere.
func (t *responseWriter) HangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done || t.err != nil {
		return
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	_ = t.sendBuffered(nil, true)
	t.closeAfter, t.err = true, errRequestEnded
	_ = t.conn.tcp.Close()
}

// SetReadDeadline bounds reading the body. One that has come already needs no
// bound.
func (t *responseWriter) SetReadDeadline(at time.Time) error {
	if t.body.conn == nil || t.body.isBuffered {
		return nil
	}
	return t.setDeadline(at, t.conn.tcp.SetReadDeadline)
}

// SetWriteDeadline bounds sending the answer.
func (t *responseWriter) SetWriteDeadline(at time.Time) error {
	return t.setDeadline(at, t.conn.tcp.SetWriteDeadline)
}

func (t *responseWriter) setDeadline(at time.Time, set func(time.Time) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errRequestEnded
	}
	if at.IsZero() && !t.hasDeadline {
		return nil // none was set
	}
	t.hasDeadline = true
	return set(at)
}
