// Package fault is a proxy that spoils what passes through it, in the ways real
// networks and servers do. A test puts it before any TCP or HTTP server and
// switches the fault while it runs. It stands outside the data path, and only
// tests import it.
package fault

import (
	"fmt"
	"strings"
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
	Truncate                 // half of the body, under a Content-Length of all of it
	Garbage                  // bytes that are no protocol
	ServerErrors             // 500, 502, 503 and 504, in turn
	WrongType                // the right answer as text/html
	EndlessSSE               // an event stream that goes on and on
	Huge                     // 100 MiB of JSON
)

// Kinds lists every fault.
func Kinds() []Kind {
	var all []Kind
	for k := Refuse; k <= Huge; k++ {
		all = append(all, k)
	}
	return all
}

func (k Kind) String() string {
	names := []string{
		"none", "refuse", "hang", "slow headers", "slow drip", "reset before", "reset during", "reset after",
		"half-close", "truncate", "garbage", "server errors", "wrong type", "endless SSE", "huge",
	}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("fault %d", int(k))
	}
	return names[k]
}

// HugeSize is the size of the body that Huge sends.
const HugeSize = 100 << 20

// serverError is the nth answer of ServerErrors.
func serverError(n int64) string {
	codes := []string{"500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"}
	body := "the server is having a bad day\n"
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", codes[n%int64(len(codes))], len(body), body)
}

// endless writes events until the other side has enough.
func (c *conn) endless() {
	c.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n")
	for n := 0; c.say(fmt.Sprintf("id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%d}}\n\n", n, n)); n++ {
		if !c.pause() {
			return
		}
	}
}

// huge writes one JSON object of HugeSize bytes.
func (c *conn) huge() {
	const open, end = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`, `"}]}}`
	c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", HugeSize, open))
	block := strings.Repeat("x", 1<<20)
	for left := HugeSize - len(open) - len(end); left > 0; left -= len(block) {
		if !c.say(block[:min(left, len(block))]) {
			return
		}
	}
	c.say(end)
}

// pause waits before the next byte or event. It says false when the proxy has
// been closed.
func (c *conn) pause() bool {
	wait := time.NewTimer(c.proxy.Pause)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-c.proxy.closed:
	case <-c.gone:
	}
	return false
}
