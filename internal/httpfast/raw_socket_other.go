//go:build !unix

package httpfast

import "syscall"

// rawSocket is for systems where a socket cannot be read or written without waiting:
// each call behaves as if nothing had arrived yet.
//
// So bytes that arrive between two requests are not seen before the next request is
// sent, as they are on Unix: they are read as its response. The id of the JSON-RPC
// message refuses them then, since no server can know it before the request is sent,
// and the connection is closed.
type rawSocket struct{}

// newRawSocket never fails here.
func newRawSocket(syscall.Conn) (*rawSocket, error) { return &rawSocket{}, nil }

func (*rawSocket) readNow([]byte) (int, error) { return 0, errWouldBlock }

func (*rawSocket) writeNow([]byte) (int, error) { return 0, errWouldBlock }

func (*rawSocket) exchangeBytes([]byte, []byte) (sent, n int, err error) { return 0, 0, nil }
