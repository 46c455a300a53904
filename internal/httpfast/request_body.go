package httpfast

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// smallReadSize is the size from which a read goes straight into the caller's memory.
// Smaller ones go through the connection's buffer, to save system calls.
const smallReadSize = 1 << 10

// The rest of a body that its handler did not read is read to keep the connection,
// up to this size and for this long.
const (
	maxDrainBytes = 256 << 10
	drainTimeout  = 10 * time.Second
)

// requestBody is the body of a request: the next remaining bytes of its connection.
// It has a lock because handlers may read it on another goroutine, also after they
// have returned.
type requestBody struct {
	conn       *serverConn
	isBuffered bool // all of it had arrived with the head
	mu         sync.Mutex
	remaining  int64
	err        error // of the connection, before the end of the body
	closed     bool
}

// Read implements io.Reader. The end of the connection before the end of the body is
// io.ErrUnexpectedEOF.
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.readLocked(p)
}

// readLocked reads from the buffer of the connection first and then from the
// socket. It never reads beyond the body, because what follows is the next
// request. The caller holds mu.
func (b *requestBody) readLocked(p []byte) (int, error) {
	switch {
	case b.remaining == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	c := b.conn
	p = p[:min(int64(len(p)), b.remaining)]
	if c.r == c.w && len(p) < smallReadSize {
		c.r, c.w = 0, 0
		n, err := c.tcp.Read(c.buf)
		c.w = n
		if n == 0 {
			return 0, b.recordError(err)
		}
	}
	if c.r < c.w {
		n := copy(p, c.buf[c.r:c.w])
		c.r += n
		b.remaining -= int64(n)
		return n, nil
	}
	n, err := c.tcp.Read(p)
	b.remaining -= int64(n)
	if n == 0 {
		return 0, b.recordError(err)
	}
	return n, nil
}

// recordError makes all later reads fail in the same way.
func (b *requestBody) recordError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	return err
}

// Close makes later reads fail. The unread rest stays on the connection until
// drainRest.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// drainRest reads the rest of the body, if it is small, and reports whether the
// connection can take another request. It runs before the head of the response is
// sent, because many clients read no response before they have sent all.
func (b *requestBody) drainRest() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.remaining == 0 {
		return true
	}
	if b.remaining > maxDrainBytes || b.err != nil {
		return false
	}
	if n := min(b.remaining, int64(b.conn.w-b.conn.r)); n > 0 {
		b.conn.r += int(n)
		b.remaining -= n
	}
	if b.remaining == 0 {
		return true
	}
	_ = b.conn.tcp.SetReadDeadline(time.Now().Add(drainTimeout))
	var sink [4 << 10]byte
	for b.remaining > 0 && b.err == nil {
		_, _ = b.readLocked(sink[:])
	}
	_ = b.conn.tcp.SetReadDeadline(time.Time{})
	return b.err == nil
}
