//go:build !unix

package egress

import "syscall"

// raw is for systems where a socket cannot be used without waiting for it: what
// it is asked is always answered as if there were nothing yet.
//
// So bytes that arrive between two requests are not seen before the next request
// is sent, as they are elsewhere: they are read as its answer. What refuses them
// then is the id of the JSON-RPC message, which cannot be known before the request
// is sent; the connection is closed (upstream, flights.newID).
type raw struct{}

func newRaw(syscall.Conn) (*raw, error) { return &raw{}, nil }

func (*raw) read([]byte) (int, error) { return 0, errWouldWait }

func (*raw) write([]byte) (int, error) { return 0, errWouldWait }

func (*raw) ask([]byte, []byte) (sent, n int, err error) { return 0, 0, nil }
