//go:build unix

package httpfast

import (
	"errors"
	"syscall"
)

const canPeek = true

// isPeerClosed says whether the other side of a connection has left. It takes nothing
// off the socket and does not wait, whoever else reads from it.
func isPeerClosed(raw syscall.RawConn) (left bool) {
	err := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		left = err == nil && n == 0 || err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return left || err != nil
}
