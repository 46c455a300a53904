package httpfast

import (
	"bytes"
	"errors"
	"io"
	"net"
)

// framingKind is how the head of a request says where the request ends.
type framingKind int

const (
	framingSized     framingKind = iota // Content-Length, or no body
	framingChunked                      // Transfer-Encoding: chunked
	framingInvalid                      // net/http refuses this head: no byte after it may be read as a request
	framingAmbiguous                    // two parsers could find different ends: refused before net/http sees it
)

// invalidHeadRest replaces the rest of a refused head after its first earlyBytes. No
// valid request line is that short, so net/http answers 400 and closes the
// connection, after the responses to the requests before it.
const invalidHeadRest = "\r\n\r\n"

const (
	earlyBytes   = 4        // of a head go to net/http at once: they start its time limit for heads
	maxChunkLine = 4 << 10  // the limit of net/http
	headSlack    = 16 << 10 // net/http adds its own buffer to the limit of heads; beyond this it has refused
)

// framingPart is the part of the HTTP/1 message stream that the next byte of a
// connection belongs to.
type framingPart int

const (
	partBetweenRequests framingPart = iota
	partHead
	partBody
	partChunkLine
	partChunk
	partChunkEnd
	partTrailer
)

// framingConn stands between a connection and net/http, and refuses requests that
// have both Content-Length and Transfer-Encoding. net/http accepts those and ignores
// the length. A proxy in front of Junctor may have used the length instead, and then
// the rest of a body is a request that the proxy never saw (request smuggling).
//
// To find the heads, framingConn follows the bodies. Where it cannot tell where a
// body ends, nothing after it reaches net/http. It passes on the bytes of all other
// requests unchanged.
type framingConn struct {
	net.Conn
	maxHead int

	buf       []byte // read from the connection
	given     int    // net/http has buf[:given]
	allowed   int    // net/http may get buf[:allowed]
	headStart int    // where the head begins
	scanned   int    // buf[:scanned] is understood

	part         framingPart
	remaining    int64 // bytes of the body or chunk
	trailerBytes int   // so far
	ended        bool  // nothing after buf[:allowed] is given: net/http sees the end
	passThrough  bool  // another protocol is spoken (SwitchProtocol)
}

// NewFramingListener returns a listener for an http.Server that gets 400 and a closed
// connection for requests with ambiguous framing: both Content-Length and
// Transfer-Encoding, one of them in a folded line, or Transfer-Encoding in HTTP/1.0.
// maxHead is the server's MaxHeaderBytes.
func NewFramingListener(l net.Listener, maxHead int) net.Listener {
	return &framingListener{l, maxHead}
}

type framingListener struct {
	net.Listener
	maxHead int
}

// Accept implements net.Listener.
func (l *framingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framingConn{Conn: c, maxHead: l.maxHead}, nil
}

// SwitchProtocol records that a handler has hijacked the connection
// (http.Hijacker) and that another protocol follows: its bytes pass unchecked.
// Other connections than those of NewFramingListener, Server and ServeTLS are
// left alone.
func SwitchProtocol(c net.Conn) {
	var f *framingConn
	switch of := c.(type) {
	case *framingConn:
		f = of
	case *tlsFramingConn:
		f = &of.framingConn
	default:
		return
	}
	f.passThrough, f.ended, f.allowed = true, false, len(f.buf)
}

// CloseWrite closes the sending direction, for net/http (see prefixedConn).
func (c *framingConn) CloseWrite() error { return closeWrite(c.Conn) }

// Read gives net/http the bytes that it may see.
func (c *framingConn) Read(p []byte) (int, error) {
	for {
		switch {
		case len(p) == 0:
			return 0, nil
		case c.given < c.allowed:
			n := copy(p, c.buf[c.given:c.allowed])
			c.given += n
			return n, nil
		case c.ended:
			return 0, io.EOF
		case c.passThrough:
			return c.Conn.Read(p)
		case c.part == partBody && c.given == len(c.buf):
			n, err := c.Conn.Read(p[:min(int64(len(p)), c.remaining)])
			c.countBody(int64(n))
			return n, err
		}
		if err := c.readMore(); err != nil {
			if !errors.Is(err, io.EOF) || c.given == len(c.buf) {
				return 0, err
			}
			c.allowed, c.ended = len(c.buf), true // half a head: net/http answers it
			continue
		}
		c.scanBuffered()
	}
}

// readMore reads from the connection into buf.
func (c *framingConn) readMore() error {
	switch {
	case c.part != partHead && c.given == len(c.buf) && cap(c.buf) > maxChunkLine+firstBufferSize:
		c.buf, c.given, c.allowed, c.scanned = nil, 0, 0, 0 // only a long head needed a buffer of that size
	case c.part != partHead && c.given > 0:
		n := copy(c.buf, c.buf[c.given:])
		c.buf, c.scanned, c.allowed, c.given = c.buf[:n], c.scanned-c.given, c.allowed-c.given, 0
	}
	if len(c.buf) == cap(c.buf) {
		c.buf = append(make([]byte, 0, max(firstBufferSize, 2*cap(c.buf))), c.buf...)
	}
	n, err := c.Conn.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// scanBuffered moves allowed over all parts that are complete in buf.
func (c *framingConn) scanBuffered() {
	for !c.ended && c.scanned < len(c.buf) && c.scanPart() {
	}
}

// scanPart scans one part of the message stream. It returns false if more bytes have
// to come first.
func (c *framingConn) scanPart() bool {
	switch c.part {
	case partBetweenRequests:
		if b := c.buf[c.scanned]; b == '\r' || b == '\n' {
			c.scanned++
			c.allowed = c.scanned
			return true
		}
		c.headStart, c.part = c.scanned, partHead
		return true
	case partHead:
		return c.scanHead()
	case partBody, partChunk:
		n := min(int64(len(c.buf)-c.scanned), c.remaining)
		c.scanned += int(n)
		c.allowed = c.scanned
		c.countBody(n)
		return true
	case partChunkEnd:
		if len(c.buf)-c.scanned < len(crlf) {
			return false
		}
		isEnd := string(c.buf[c.scanned:c.scanned+len(crlf)]) == crlf
		c.scanned += len(crlf)
		if !isEnd {
			return c.endAfterScanned()
		}
		c.allowed, c.part = c.scanned, partChunkLine
		return true
	case partChunkLine, partTrailer:
		return c.scanLine()
	}
	return false
}

// countBody counts n bytes of a body or chunk and moves on at its end.
func (c *framingConn) countBody(n int64) {
	if c.remaining -= n; c.remaining > 0 {
		return
	}
	if c.part == partChunk {
		c.part = partChunkEnd
	} else {
		c.part = partBetweenRequests
	}
}

// scanHead looks for the empty line and decides what happens to the request. net/http
// accepts a bare LF as line end, so that is one here too.
func (c *framingConn) scanHead() bool {
	if early := min(c.headStart+earlyBytes, len(c.buf)); c.allowed < early {
		c.allowed = early
	}
	for {
		i := bytes.IndexByte(c.buf[c.scanned:], '\n')
		if i < 0 {
			if len(c.buf)-c.headStart > c.maxHead+headSlack {
				c.scanned = len(c.buf) // all of it is this head, and net/http refuses it
				return c.endAfterScanned()
			}
			return false
		}
		line := c.buf[c.scanned : c.scanned+i]
		c.scanned += i + 1
		if len(bytes.TrimSuffix(line, []byte{'\r'})) == 0 {
			break
		}
	}
	kind, length := parseFraming(c.buf[c.headStart:c.scanned])
	switch kind {
	case framingSized:
		c.allowed, c.remaining, c.part = c.scanned, length, partBody
		if length == 0 {
			c.part = partBetweenRequests
		}
	case framingChunked:
		c.allowed, c.part, c.trailerBytes = c.scanned, partChunkLine, 0
	case framingInvalid:
		c.allowed, c.ended = c.scanned, true
	case framingAmbiguous:
		c.buf = append(c.buf[:c.allowed], invalidHeadRest...)
		c.allowed, c.ended = len(c.buf), true
	}
	return true
}

// scanLine scans the line before a chunk, or one of the trailers.
func (c *framingConn) scanLine() bool {
	i := bytes.IndexByte(c.buf[c.scanned:], '\n')
	if i > maxChunkLine || i < 0 && len(c.buf)-c.scanned > maxChunkLine {
		return c.endAfterScanned()
	}
	if i < 0 {
		return false
	}
	line, whole := bytes.CutSuffix(c.buf[c.scanned:c.scanned+i], []byte{'\r'})
	c.scanned += i + 1
	c.allowed = c.scanned
	if !whole {
		return c.endAfterScanned()
	}
	if c.part == partTrailer {
		if c.trailerBytes += i; c.trailerBytes > c.maxHead {
			return c.endAfterScanned()
		}
		if len(line) == 0 {
			c.part = partBetweenRequests
		}
		return true
	}
	size, ok := parseChunkLength(line)
	if !ok {
		return c.endAfterScanned()
	}
	if c.remaining, c.part = size, partChunk; size == 0 {
		c.part = partTrailer
	}
	return true
}

// endAfterScanned gives net/http the bytes up to the fault, and then the end of the
// connection: net/http fails in the middle of the message. The bytes after the fault
// must not follow, even if they are buffered. net/http could accept the fault, as it
// accepts a bare LF after trailers, and would read them as a request that nobody has
// checked.
func (c *framingConn) endAfterScanned() bool {
	c.allowed, c.ended = c.scanned, true
	return true
}

// parseChunkLength reads the line before a chunk. net/http ignores extensions and
// blanks after the length, so they are ignored here too.
func parseChunkLength(line []byte) (int64, bool) {
	digits, _, _ := bytes.Cut(line, []byte{';'})
	return parseHex(bytes.TrimRight(digits, " \t"))
}

// parseFraming finds in a complete head how the request says where it ends. It
// recognizes the fields at least as leniently as any parser: with blanks around the
// name, in folded lines and with bare LF.
func parseFraming(head []byte) (kind framingKind, length int64) {
	var lengths, codings int
	var size, coding []byte
	var folds, refused bool
	first := true
	var requestLine []byte
	for line := range bytes.Lines(head) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		switch {
		case first:
			requestLine, first = line, false
			folds = false
			continue
		case len(line) == 0:
			continue
		case isBlank(line[0]):
			if folds { // it continues a field that says where the request ends
				return framingAmbiguous, 0
			}
			continue
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		refused = refused || !ok
		name, value = bytes.Trim(name, " \t"), bytes.Trim(value, " \t")
		folds = true
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			refused = refused || lengths > 0 && !bytes.Equal(size, value)
			lengths, size = lengths+1, value
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			codings, coding = codings+1, value
		default:
			folds = false
		}
	}
	switch {
	case codings > 0 && (lengths > 0 || !bytes.HasSuffix(requestLine, []byte(protocolSuffix))):
		return framingAmbiguous, 0
	case refused:
		return framingInvalid, 0
	case codings == 1 && bytes.EqualFold(coding, []byte("chunked")):
		return framingChunked, 0
	case codings > 0:
		return framingInvalid, 0
	case lengths == 0:
		return framingSized, 0
	}
	n, ok := parseDecimal(size)
	if !ok {
		return framingInvalid, 0
	}
	return framingSized, n
}
