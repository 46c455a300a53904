package entrance

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// smallRead is from where on a reader's own memory is worth a system call.
const smallRead = 1 << 10

// maxDrain is how much of a body that its handler did not want is read to keep
// the connection; drainFor is how long.
const (
	maxDrain = 256 << 10
	drainFor = 10 * time.Second
)

// body is what a request brings along: the next left bytes of its connection.
type body struct {
	c      *conn
	whole  bool // all of it was there with the head
	mu     sync.Mutex
	left   int64
	err    error // what ended it before its end
	closed bool
}

// Read gives what has come of the body.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

func (b *body) read(p []byte) (int, error) {
	switch {
	case b.left == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	c := b.c
	p = p[:min(int64(len(p)), b.left)]
	if c.r == c.w && len(p) < smallRead {
		c.r, c.w = 0, 0
		n, err := c.nc.Read(c.buf)
		c.w = n
		if n == 0 {
			return 0, b.fail(err)
		}
	}
	if c.r < c.w {
		n := copy(p, c.buf[c.r:c.w])
		c.r += n
		b.left -= int64(n)
		return n, nil
	}
	n, err := c.nc.Read(p)
	b.left -= int64(n)
	if n == 0 {
		return 0, b.fail(err)
	}
	return n, nil
}

func (b *body) fail(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	return err
}

// Close lets nobody read any more. What is unread is seen to with the answer.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// drain reads what is left, if that is little, and says whether the connection
// can be used again. Many clients read no answer before they have sent all.
func (b *body) drain() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.left == 0 {
		return true
	}
	if b.left > maxDrain || b.err != nil {
		return false
	}
	if n := min(b.left, int64(b.c.w-b.c.r)); n > 0 {
		b.c.r += int(n)
		b.left -= n
	}
	if b.left == 0 {
		return true
	}
	_ = b.c.nc.SetReadDeadline(time.Now().Add(drainFor))
	var sink [4 << 10]byte
	for b.left > 0 && b.err == nil {
		_, _ = b.read(sink[:])
	}
	_ = b.c.nc.SetReadDeadline(time.Time{})
	return b.err == nil
}
