// Package fault is a proxy that spoils what passes through it, in the ways real
// networks and servers do. A test puts it before any TCP or HTTP server and
// switches the fault while it runs. It stands outside the data path, and only
// tests import it.
package fault

import (
	"fmt"
	"time"
)

// Kind is what goes wrong.
type Kind int

// The faults. Those that speak of an answer wait for the first bytes of a
// request, so that they hit connections that were opened before, too.
const (
	None         Kind = iota // everything passes
	Refuse                   // nobody listens; open connections are reset
	Hang                     // accepted, and never answered
	SlowHeaders              // the head of the answer comes byte by byte
	SlowDrip                 // all of the answer comes byte by byte
	ResetBefore              // reset instead of an answer
	ResetDuring              // reset in the middle of the answer
	ResetAfter               // the answer arrives; the next request on the connection is reset
	HalfClose                // the sending side is closed without an answer; the other stays open
	Truncate                 // half of the body, under a Content-Length of all of it where there is one
	Garbage                  // bytes that are no protocol
	ServerErrors             // 500, 502, 503 and 504, in turn
	WrongType                // the right answer as text/html
	EndlessSSE               // an event stream that goes on and on
	Huge                     // 100 MiB of JSON
	Latency                  // the right answer, Delay late
	WrongIDs                 // the right answer, to another request
	HugeHeaders              // a head of 4 MiB
	InfoFlood                // 1xx answers, and never another
	BadChunks                // chunks whose sizes are no numbers
	Redirect                 // 307 to itself, for ever
	StreamBreak              // an event stream that is reset after its first event
	StreamHang               // an event stream that falls silent after its first event
)

// Kinds lists every fault.
func Kinds() []Kind {
	var all []Kind
	for k := Refuse; k <= StreamHang; k++ {
		all = append(all, k)
	}
	return all
}

// String returns the name of the fault in reports.
func (k Kind) String() string {
	names := []string{
		"none", "refuse", "hang", "slow headers", "slow drip", "reset before", "reset during", "reset after",
		"half-close", "truncate", "garbage", "server errors", "wrong type", "endless SSE", "huge",
		"latency", "wrong ids", "huge headers", "1xx flood", "bad chunks", "redirect", "stream break", "stream hang",
	}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("fault %d", int(k))
	}
	return names[k]
}

// HugeSize is the size of the body that Huge sends.
const HugeSize = 100 << 20

// HeadersSize is about the size of the head that HugeHeaders sends.
const HeadersSize = 4 << 20

// pause waits before the next byte or event. It says false when the proxy has
// been closed.
func (c *conn) pause() bool { return c.wait(c.proxy.Pause) }

func (c *conn) wait(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-c.proxy.closed:
	case <-c.gone:
	}
	return false
}
