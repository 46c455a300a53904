package fault

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

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
	block := bytes.Repeat([]byte("x"), 256<<10)
	c.shallow()
	for left := HugeSize - len(open) - len(end); left > 0; left -= len(block) {
		if _, err := c.client.Write(block[:min(left, len(block))]); err != nil {
			return
		}
	}
	c.say(end)
}

// shallow keeps the kernel from taking megabytes that the other side never reads:
// that would cost the machine more than it costs the tested program.
func (c *conn) shallow() { _ = c.client.SetWriteBuffer(64 << 10) }

// headers writes a head that goes on for long.
func (c *conn) headers() {
	c.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n")
	// In large blocks: the fault is that it is long, not that its sender is busy.
	const lines = 64
	c.shallow()
	fill := strings.Repeat("x", 1<<10)
	for n := 0; n < HeadersSize>>10; n += lines {
		var block strings.Builder
		for i := range lines {
			fmt.Fprintf(&block, "X-Fill-%d: %s\r\n", n+i, fill)
		}
		if !c.say(block.String()) {
			return
		}
	}
	c.say("\r\n{}")
}

// flood writes provisional answers until the other side has enough.
func (c *conn) flood() {
	block := strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n", 64)
	for c.say(block) {
		continue
	}
}

const badChunks = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
	"5\r\n{\"jso\r\nmany\r\nn\r\n-1\r\n"

// firstEvent begins an event stream that names no request.
const firstEvent = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n" +
	"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"begun\"}}\n\n"

func redirect(to string) string {
	return "HTTP/1.1 307 Temporary Redirect\r\nLocation: " + to + "/again\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
}

// wrongIDs gives every response another id of the same length.
func wrongIDs(b []byte) []byte {
	return regexp.MustCompile(`"id":\d`).ReplaceAllFunc(b, func(id []byte) []byte {
		digit := id[len(id)-1]
		return append(id[:len(id)-1:len(id)-1], '1'+(digit-'0')%9)
	})
}
