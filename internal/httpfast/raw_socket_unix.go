//go:build unix

package httpfast

import (
	"io"
	"syscall"
)

// rawSocket reads and writes on a socket without ever waiting for the other side.
type rawSocket struct {
	conn        syscall.RawConn
	readBuffer  []byte
	n           int
	err         error
	writeBuffer []byte
	sent        int
	readFn      func(fd uintptr) bool // made once: a call allocates nothing
	writeFn     func(fd uintptr) bool
	exchangeFn  func(fd uintptr) bool
}

func newRawSocket(c syscall.Conn) (*rawSocket, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &rawSocket{conn: rc}
	w.readFn = func(fd uintptr) bool { w.n, w.err = retryInterrupted(syscall.Read, int(fd), w.readBuffer); return true }
	w.writeFn = func(fd uintptr) bool {
		w.n, w.err = retryInterrupted(syscall.Write, int(fd), w.readBuffer)
		return true
	}
	w.exchangeFn = func(fd uintptr) bool { return w.continueExchange(int(fd)) }
	return w, nil
}

// retryInterrupted does what a signal interrupted once more.
func retryInterrupted(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR { //nolint:errorlint // the system's own number, and every call comes by here
			return max(n, 0), err
		}
	}
}

// readNow gives what has arrived, errWouldWait when that is nothing.
func (w *rawSocket) readNow(p []byte) (int, error) {
	w.readBuffer = p
	if err := w.conn.Read(w.readFn); err != nil {
		return 0, err
	}
	w.readBuffer = nil
	switch {
	case w.err == syscall.EAGAIN: //nolint:errorlint // as above
		return 0, errWouldBlock
	case w.err == nil && w.n == 0:
		return 0, io.EOF
	}
	return w.n, w.err
}

// writeNow sends what fits into the socket's buffer now.
func (w *rawSocket) writeNow(p []byte) (int, error) {
	w.readBuffer = p
	if err := w.conn.Write(w.writeFn); err != nil {
		return 0, err
	}
	w.readBuffer = nil
	if w.err == syscall.EAGAIN { //nolint:errorlint // as above
		return w.n, errWouldBlock
	}
	return w.n, w.err
}

// exchangeBytes sends out and waits for what comes back, which it reads into p. Where the
// socket has something to read before, or was closed, it sends nothing and gives
// errStale. With less sent than there is, nothing was waited for, and err is that of
// sending; else it is that of reading.
//
// It is a look, a write and a read in one: the look tells the poller that the
// socket was empty, so that the answer can be waited for without another.
func (w *rawSocket) exchangeBytes(out, p []byte) (sent, n int, err error) {
	w.writeBuffer, w.readBuffer, w.sent, w.n, w.err = out, p, 0, 0, nil
	err = w.conn.Read(w.exchangeFn)
	w.writeBuffer, w.readBuffer = nil, nil
	if err == nil {
		err = w.err
	}
	return w.sent, w.n, err
}

func (w *rawSocket) continueExchange(fd int) (over bool) {
	if w.sent == 0 {
		if _, err := retryInterrupted(syscall.Read, fd, w.readBuffer[:1]); err != syscall.EAGAIN { //nolint:errorlint // as above
			w.err = errStaleConn
			return true
		}
		if w.sent, w.err = retryInterrupted(syscall.Write, fd, w.writeBuffer); w.err == syscall.EAGAIN { //nolint:errorlint // as above
			w.err = nil
		}
		return w.sent < len(w.writeBuffer)
	}
	w.n, w.err = retryInterrupted(syscall.Read, fd, w.readBuffer)
	switch {
	case w.err == syscall.EAGAIN: //nolint:errorlint // as above
		w.err = nil
		return false
	case w.err == nil && w.n == 0:
		w.err = io.EOF
	}
	return true
}
