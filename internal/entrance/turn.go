package entrance

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

// maxPending is how much of an answer is held back: one that is no longer leaves
// in one piece, with its length.
const maxPending = 4 << 10

// maxPage is the largest memory that is kept for further answers.
const maxPage = 64 << 10

// errEnded is told to who writes when the handler has returned.
var errEnded = errors.New("the request has ended")

// page is memory that an answer is written into.
type page struct {
	head, body []byte
	parts      [2][]byte
	vec        net.Buffers
}

// turn is one request and the writer of its answer. Nothing of it is used again:
// who holds it for too long writes into nothing.
type turn struct {
	c       *conn
	request *http.Request
	url     url.URL
	cancel  context.CancelFunc
	body    body

	mu        sync.Mutex
	done      bool
	header    http.Header
	p         *page // from WriteHeader on
	status    int
	length    int64 // as the handler says; -1: it does not
	written   int64
	committed bool // the head is complete
	chunked   bool
	close     bool // the connection ends behind the answer
	typed     bool // the answer says its type, or needs none
	dated     bool
	timed     bool // a deadline was set on the socket
	err       error
}

// Header is that of the answer.
func (t *turn) Header() http.Header {
	if t.header == nil {
		t.header = make(http.Header)
	}
	return t.header
}

// WriteHeader takes the status and the header as it is now.
func (t *turn) WriteHeader(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeHeader(status)
}

func (t *turn) writeHeader(status int) {
	if t.done || t.status != 0 || status < 200 || status > 999 {
		return // informational ones are not sent
	}
	t.status = status
	t.p, _ = t.c.s.pages.Get().(*page)
	b := t.p.head[:0]
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	text := http.StatusText(status)
	if text == "" {
		text = "status code " + strconv.Itoa(status)
	}
	b = append(append(append(b, ' '), text...), crlf...)
	t.typed = !bodyAllowed(status)
	for name, values := range t.header {
		switch name {
		case "Content-Length":
			if n, err := strconv.ParseInt(first(values), 10, 64); err == nil && n >= 0 && bodyAllowed(status) {
				t.length = n
			}
			continue
		case "Transfer-Encoding", "Trailer":
			continue // how the answer is sent is decided here
		case "Connection":
			if strings.EqualFold(first(values), "close") {
				t.close = true
				continue
			}
		case "Content-Type":
			if t.typed && status == http.StatusNotModified {
				continue
			}
			t.typed = true
		case "Content-Encoding":
			t.typed = t.typed || first(values) != ""
		case "Date":
			t.dated = true
		}
		b = appendLines(b, name, values)
	}
	t.p.head, t.p.body = b, t.p.body[:0]
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// appendLines writes a header's lines so that no value can make another line.
func appendLines(b []byte, name string, values []string) []byte {
	for i := range len(name) {
		if !token(name[i]) {
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

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write takes a part of the answer.
func (t *turn) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return 0, errEnded
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !bodyAllowed(t.status) {
		return 0, http.ErrBodyNotAllowed
	}
	t.written += int64(len(p)) // also if that is too much: then the connection ends
	switch {
	case t.length >= 0 && t.written > t.length:
		return 0, http.ErrContentLength
	case t.err != nil:
		return 0, t.err
	}
	if len(t.p.body)+len(p) <= maxPending {
		t.p.body = append(t.p.body, p...)
		return len(p), nil
	}
	if err := t.send(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends what was written.
func (t *turn) Flush() { _ = t.FlushError() }

// FlushError is Flush, and says what went wrong.
func (t *turn) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errEnded
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	return t.send(nil, false)
}

// commit completes the head. last says that all of the answer is there.
func (t *turn) commit(p []byte, last bool) {
	t.committed = true
	b := t.p.head
	if !t.close && t.body.c != nil && !t.body.drain() {
		t.close = true
	}
	if !t.typed {
		if some := t.p.body; len(some)+len(p) > 0 {
			if len(some) == 0 {
				some = p
			}
			b = append(append(append(b, "Content-Type: "...), http.DetectContentType(some)...), crlf...)
		}
	}
	if !t.dated {
		b = append(t.c.s.appendDate(append(b, "Date: "...)), crlf...)
	}
	switch {
	case !bodyAllowed(t.status):
	case t.length >= 0 || last:
		if t.length < 0 {
			t.length = t.written
		}
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), t.length, 10), crlf...)
	default:
		t.chunked = true
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if t.close = t.close || t.c.s.stopped.Load(); t.close {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, crlf...)
	t.p.head = b
}

// send writes the head, if that is not gone yet, what is pending, and p.
func (t *turn) send(p []byte, last bool) error {
	if t.err != nil {
		return t.err
	}
	if !t.committed {
		t.commit(p, last)
	}
	b, pending := t.p.head, t.p.body
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
	if len(p) <= maxPending {
		b, p = append(b, p...), nil
		b, tail = append(b, tail...), ""
	}
	t.p.head, t.p.body = b[:0], pending[:0]
	if len(b) > 0 || len(p) > 0 {
		t.err = t.write(b, p)
	}
	if t.err == nil && tail != "" {
		t.p.head = append(t.p.head, tail...) // goes with what comes next
	}
	return t.err
}

func (t *turn) write(b, p []byte) (err error) {
	if p == nil {
		_, err = t.c.nc.Write(b)
	} else {
		t.p.parts = [2][]byte{b, p}
		t.p.vec = t.p.parts[:]
		_, err = t.p.vec.WriteTo(t.c.nc)
		t.p.parts = [2][]byte{}
	}
	if err != nil {
		t.close = true
		t.cancel() // as net/http does: there is nobody to answer
	}
	return err
}

// finish sends what is left of the answer, and says whether the connection can
// be used again.
func (t *turn) finish() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	_ = t.send(nil, true)
	t.done = true
	if t.timed {
		_ = t.c.nc.SetDeadline(time.Time{})
	}
	_ = t.body.Close()
	if t.length >= 0 && t.written != t.length || t.c.s.stopped.Load() {
		t.close = true
	}
	if cap(t.p.head) <= maxPage && cap(t.p.body) <= maxPage {
		t.c.s.pages.Put(t.p)
	}
	t.p = nil
	return !t.close && t.err == nil
}

// HangUp ends the answer and the connection while the handler still works. What that
// writes from now on goes nowhere.
func (t *turn) HangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done || t.err != nil {
		return
	}
	if t.status == 0 {
		t.writeHeader(http.StatusOK)
	}
	_ = t.send(nil, true)
	t.close, t.err = true, errEnded
	_ = t.c.nc.Close()
}

// SetReadDeadline bounds reading the body. One that has come already needs no
// bound.
func (t *turn) SetReadDeadline(at time.Time) error {
	if t.body.c == nil || t.body.whole {
		return nil
	}
	return t.deadline(at, t.c.nc.SetReadDeadline)
}

// SetWriteDeadline bounds sending the answer.
func (t *turn) SetWriteDeadline(at time.Time) error {
	return t.deadline(at, t.c.nc.SetWriteDeadline)
}

func (t *turn) deadline(at time.Time, set func(time.Time) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errEnded
	}
	if at.IsZero() && !t.timed {
		return nil // none was set
	}
	t.timed = true
	return set(at)
}
