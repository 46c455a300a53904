//go:build !unix

package httpfast

import "syscall"

// canPeek is false where a connection cannot be looked at without reading from
// it: net/http serves alone there.
const canPeek = false

func isPeerClosed(syscall.RawConn) bool { return false }
