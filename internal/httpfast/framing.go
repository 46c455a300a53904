package httpfast

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
)

// framingKind says where a request ends, by its head.
type framingKind int

const (
	framingSized     framingKind = iota // Content-Length, or no body
	framingChunked                      // Transfer-Encoding: chunked
	framingInvalid                      // net/http refuses this head: nothing behind it may be read as a request
	framingAmbiguous                    // two readers could find different ends: refused before net/http sees it
)

// invalidHeadRest takes the place of what follows the first bytes of a head that is
// refused. No request line has these bytes alone behind them, so net/http answers
// 400 and closes the connection, when it is that request's turn.
const invalidHeadRest = "\r\n\r\n"

const (
	earlyBytes   = 4        // of a head go to net/http at once: they begin its time limit for heads
	maxChunkLine = 4 << 10  // as net/http has it
	headSlack    = 16 << 10 // net/http counts its own buffer to the limit of heads; beyond this it has refused
)

// framingPart is what the next byte of a connection belongs to.
type framingPart int

const (
	partBetweenRequests framingPart = iota // requests
	partHead
	partBody
	partChunkLine
	partChunk
	partChunkEnd
	partTrailer
)

// framingConn stands between a connection and net/http and refuses requests that
// have both Content-Length and Transfer-Encoding, which net/http takes by dropping
// the first. A proxy before us may have gone by the other one, and then the rest of
// a body is a request that it never saw. To find the heads, it follows the bodies;
// where it cannot tell where one ends, nothing behind it reaches net/http.
type framingConn struct {
	net.Conn
	maxHead int

	buf       []byte // read, and not all given yet
	given     int    // given up to here
	allowed   int    // may be given up to here
	headStart int    // of the head
	scanned   int    // read for line ends up to here

	part         framingPart
	remaining    int64 // of the body or chunk
	trailerBytes int   // bytes of trailers
	ended        bool  // nothing behind ready is given
	passThrough  bool  // no HTTP any more
}

// FramedListener gives the connections of l to an http.Server in such a way that
// requests with ambiguous framing (both Content-Length and Transfer-Encoding, or
// Transfer-Encoding in HTTP/1.0) are answered 400 and their connection is closed.
// maxHead is the server's MaxHeaderBytes.
func FramedListener(l net.Listener, maxHead int) net.Listener {
	return &framingListener{l, maxHead}
}

type framingListener struct {
	net.Listener
	maxHead int
}

// Accept gives the next connection.
func (l *framingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framingConn{Conn: c, maxHead: l.maxHead}, nil
}

// EndHTTP says that a handler has taken the connection over (http.Hijacker) and
// that what follows is another protocol.
func EndHTTP(c net.Conn) {
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

// CloseWrite ends our half: net/http does so where a client still sends.
func (c *framingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Read gives what net/http may see of the connection.
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
			c.allowed, c.ended = len(c.buf), true // half a head: net/http has an answer
			continue
		}
		c.scanBuffered()
	}
}

// readMore reads more behind what is there.
func (c *framingConn) readMore() error {
	switch {
	case c.part != partHead && c.given == len(c.buf) && cap(c.buf) > maxChunkLine+firstBufferSize:
		c.buf, c.given, c.allowed, c.scanned = nil, 0, 0, 0 // a long head was the last to need it
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

// scanBuffered moves ready over what is understood.
func (c *framingConn) scanBuffered() {
	for !c.ended && c.scanned < len(c.buf) && c.scanPart() {
	}
}

// scanPart takes one part of what was read; false when more has to come first.
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
		if string(c.buf[c.scanned:c.scanned+len(crlf)]) != crlf {
			return c.endAfterBuffered()
		}
		c.scanned += len(crlf)
		c.allowed, c.part = c.scanned, partChunkLine
		return true
	case partChunkLine, partTrailer:
		return c.scanLine()
	}
	return false
}

// countBody counts bytes of a body or chunk.
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

// scanHead looks for the empty line. net/http takes a bare line feed for a line
// end, so that is one here too.
func (c *framingConn) scanHead() bool {
	if early := min(c.headStart+earlyBytes, len(c.buf)); c.allowed < early {
		c.allowed = early
	}
	for {
		i := bytes.IndexByte(c.buf[c.scanned:], '\n')
		if i < 0 {
			if len(c.buf)-c.headStart > c.maxHead+headSlack {
				return c.endAfterBuffered()
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

// scanLine takes the line before a chunk, or of the trailers.
func (c *framingConn) scanLine() bool {
	i := bytes.IndexByte(c.buf[c.scanned:], '\n')
	if i > maxChunkLine || i < 0 && len(c.buf)-c.scanned > maxChunkLine {
		return c.endAfterBuffered()
	}
	if i < 0 {
		return false
	}
	line, whole := bytes.CutSuffix(c.buf[c.scanned:c.scanned+i], []byte{'\r'})
	c.scanned += i + 1
	c.allowed = c.scanned
	if !whole {
		return c.endAfterBuffered()
	}
	if c.part == partTrailer {
		if c.trailerBytes += i; c.trailerBytes > c.maxHead {
			return c.endAfterBuffered()
		}
		if len(line) == 0 {
			c.part = partBetweenRequests
		}
		return true
	}
	size, ok := parseChunkLength(line)
	if !ok {
		return c.endAfterBuffered()
	}
	if c.remaining, c.part = size, partChunk; size == 0 {
		c.part = partTrailer
	}
	return true
}

// endAfterBuffered gives what is there, which net/http refuses, and nothing behind it.
func (c *framingConn) endAfterBuffered() bool {
	c.allowed, c.ended = len(c.buf), true
	return true
}

// parseChunkLength reads the length of a chunk; extensions mean nothing.
func parseChunkLength(line []byte) (int64, bool) {
	digits, _, _ := bytes.Cut(line, []byte{';'})
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	for _, d := range digits {
		if (d < '0' || d > '9') && (d|0x20 < 'a' || d|0x20 > 'f') {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(digits), 16, 64)
	return n, err == nil
}

// parseFraming reads a whole head for what says where its request ends.
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
			if folds { // of a line that says how long the request is
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
