//go:build !unix

package httpfast

import "syscall"

// canPeek is false because isPeerClosed does not work on this system: net/http
// serves all connections.
const canPeek = false

func isPeerClosed(syscall.RawConn) bool { return false }
