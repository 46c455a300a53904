//go:build unix

package egress

import (
	"io"
	"syscall"
)

// raw reads and writes on a socket without ever waiting for the other side.
type raw struct {
	rc     syscall.RawConn
	p      []byte
	n      int
	err    error
	readFn func(fd uintptr) bool // made once: a call allocates nothing
	sendFn func(fd uintptr) bool
}

func newRaw(c syscall.Conn) (*raw, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &raw{rc: rc}
	w.readFn = func(fd uintptr) bool { w.n, w.err = again(syscall.Read, int(fd), w.p); return true }
	w.sendFn = func(fd uintptr) bool { w.n, w.err = again(syscall.Write, int(fd), w.p); return true }
	return w, nil
}

// again does what a signal interrupted once more.
func again(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR { //nolint:errorlint // the system's own number, and every call comes by here
			return max(n, 0), err
		}
	}
}

// read gives what has arrived, errWouldWait when that is nothing.
func (w *raw) read(p []byte) (int, error) {
	w.p = p
	if err := w.rc.Read(w.readFn); err != nil {
		return 0, err
	}
	w.p = nil
	switch {
	case w.err == syscall.EAGAIN: //nolint:errorlint // as above
		return 0, errWouldWait
	case w.err == nil && w.n == 0:
		return 0, io.EOF
	}
	return w.n, w.err
}

// write sends what fits into the socket's buffer now.
func (w *raw) write(p []byte) (int, error) {
	w.p = p
	if err := w.rc.Write(w.sendFn); err != nil {
		return 0, err
	}
	w.p = nil
	if w.err == syscall.EAGAIN { //nolint:errorlint // as above
		return w.n, errWouldWait
	}
	return w.n, w.err
}
