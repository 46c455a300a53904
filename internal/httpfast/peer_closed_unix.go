//go:build unix

package httpfast

import (
	"errors"
	"syscall"
)

// canPeek is true because isPeerClosed works on this system.
const canPeek = true

// isPeerClosed reports whether the peer has closed the connection. It takes no bytes
// from the socket and never waits, so it may run beside a reader.
func isPeerClosed(raw syscall.RawConn) (left bool) {
	err := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		left = err == nil && n == 0 || err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return left || err != nil
}
