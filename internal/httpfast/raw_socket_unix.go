//go:build unix

package httpfast

import (
	"io"
	"syscall"
)

// rawSocket reads from and writes to a socket without waiting for the peer. One
// goroutine uses it at a time. The functions that the runtime's poller calls are made
// once, so that a call allocates nothing; the other fields are their arguments and
// results.
type rawSocket struct {
	conn        syscall.RawConn
	readBuffer  []byte
	n           int
	err         error
	writeBuffer []byte
	sent        int
	readFn      func(fd uintptr) bool
	writeFn     func(fd uintptr) bool
	exchangeFn  func(fd uintptr) bool
}

// newRawSocket prepares the socket of a connection. The connection stays its owner.
func newRawSocket(c syscall.Conn) (*rawSocket, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &rawSocket{conn: rc}
	w.readFn = func(fd uintptr) bool { w.n, w.err = retryInterrupted(syscall.Read, int(fd), w.readBuffer); return true }
	w.writeFn = func(fd uintptr) bool {
		w.n, w.err = retryInterrupted(syscall.Write, int(fd), w.writeBuffer)
		return true
	}
	w.exchangeFn = func(fd uintptr) bool { return w.continueExchange(int(fd)) }
	return w, nil
}

// retryInterrupted repeats a system call that a signal interrupted.
func retryInterrupted(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR { //nolint:errorlint // the unwrapped errno, on the path of every call
			return max(n, 0), err
		}
	}
}

// readNow reads what has arrived. If that is nothing, it returns errWouldBlock.
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

// writeNow sends what fits into the socket's buffer now. If that is not all, it
// returns errWouldBlock.
func (w *rawSocket) writeNow(p []byte) (int, error) {
	w.writeBuffer = p
	if err := w.conn.Write(w.writeFn); err != nil {
		return 0, err
	}
	w.writeBuffer = nil
	if w.err == syscall.EAGAIN { //nolint:errorlint // as above
		return w.n, errWouldBlock
	}
	return w.n, w.err
}

// exchangeBytes sends out, waits for the first bytes that come back, and reads them
// into p. If the socket has bytes to read before, or was closed, it sends nothing and
// returns errStaleConn. If it could not send all of out, it did not wait, and err is
// that of sending. Otherwise err is that of reading.
//
// The probe, the write and the read are one call of the poller: the probe has shown
// that the socket is empty, so the wait for the response needs no further read.
func (w *rawSocket) exchangeBytes(out, p []byte) (sent, n int, err error) {
	w.writeBuffer, w.readBuffer, w.sent, w.n, w.err = out, p, 0, 0, nil
	err = w.conn.Read(w.exchangeFn)
	w.writeBuffer, w.readBuffer = nil, nil
	if err == nil {
		err = w.err
	}
	return w.sent, w.n, err
}

// continueExchange is called by the poller, first at once and then whenever the socket
// may have something to read. It returns true when exchangeBytes is done.
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
