//go:build !unix

package httpfast

import "syscall"

// rawSocket is for systems where a socket cannot be used without waiting for it: what
// it is asked is always answered as if there were nothing yet.
//
// So bytes that arrive between two requests are not seen before the next request
// is sent, as they are elsewhere: they are read as its answer. What refuses them
// then is the id of the JSON-RPC message, which cannot be known before the request
// is sent; the connection is closed (upstream, flights.newID).
type rawSocket struct{}

func newRawSocket(syscall.Conn) (*rawSocket, error) { return &rawSocket{}, nil }

func (*rawSocket) readNow([]byte) (int, error) { return 0, errWouldBlock }

func (*rawSocket) writeNow([]byte) (int, error) { return 0, errWouldBlock }

func (*rawSocket) exchangeBytes([]byte, []byte) (sent, n int, err error) { return 0, 0, nil }
