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
	out    []byte
	sent   int
	readFn func(fd uintptr) bool // made once: a call allocates nothing
	sendFn func(fd uintptr) bool
	askFn  func(fd uintptr) bool
}

func newRaw(c syscall.Conn) (*raw, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &raw{rc: rc}
	w.readFn = func(fd uintptr) bool { w.n, w.err = again(syscall.Read, int(fd), w.p); return true }
	w.sendFn = func(fd uintptr) bool { w.n, w.err = again(syscall.Write, int(fd), w.p); return true }
	w.askFn = func(fd uintptr) bool { return w.asked(int(fd)) }
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

// ask sends out and waits for what comes back, which it reads into p. Where the
// socket has something to read before, or was closed, it sends nothing and gives
// errStale. With less sent than there is, nothing was waited for, and err is that of
// sending; else it is that of reading.
//
// It is a look, a write and a read in one: the look tells the poller that the
// socket was empty, so that the answer can be waited for without another.
func (w *raw) ask(out, p []byte) (sent, n int, err error) {
	w.out, w.p, w.sent, w.n, w.err = out, p, 0, 0, nil
	err = w.rc.Read(w.askFn)
	w.out, w.p = nil, nil
	if err == nil {
		err = w.err
	}
	return w.sent, w.n, err
}

func (w *raw) asked(fd int) (over bool) {
	if w.sent == 0 {
		if _, err := again(syscall.Read, fd, w.p[:1]); err != syscall.EAGAIN { //nolint:errorlint // as above
			w.err = errStale
			return true
		}
		if w.sent, w.err = again(syscall.Write, fd, w.out); w.err == syscall.EAGAIN { //nolint:errorlint // as above
			w.err = nil
		}
		return w.sent < len(w.out)
	}
	w.n, w.err = again(syscall.Read, fd, w.p)
	switch {
	case w.err == syscall.EAGAIN: //nolint:errorlint // as above
		w.err = nil
		return false
	case w.err == nil && w.n == 0:
		w.err = io.EOF
	}
	return true
}
