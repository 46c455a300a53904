package entrance

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
)

// framing says where a request ends, by its head.
type framing int

const (
	framingSized     framing = iota // Content-Length, or no body
	framingChunked                  // Transfer-Encoding: chunked
	framingLast                     // net/http refuses this head: nothing behind it may be read as a request
	framingAmbiguous                // two readers could find different ends: refused before net/http sees it
)

// refusedRest takes the place of what follows the first bytes of a head that is
// refused. No request line has these bytes alone behind them, so net/http answers
// 400 and closes the connection, when it is that request's turn.
const refusedRest = "\r\n\r\n"

const (
	earlyBytes   = 4        // of a head go to net/http at once: they begin its time limit for heads
	maxChunkLine = 4 << 10  // as net/http has it
	headSlack    = 16 << 10 // net/http counts its own buffer to the limit of heads; beyond this it has refused
)

// framedPart is what the next byte of a connection belongs to.
type framedPart int

const (
	partBetween framedPart = iota // requests
	partHead
	partBody
	partChunkLine
	partChunk
	partChunkEnd
	partTrailer
)

// framedConn stands between a connection and net/http and refuses requests that
// have both Content-Length and Transfer-Encoding, which net/http takes by dropping
// the first. A proxy before us may have gone by the other one, and then the rest of
// a body is a request that it never saw. To find the heads, it follows the bodies;
// where it cannot tell where one ends, nothing behind it reaches net/http.
type framedConn struct {
	net.Conn
	maxHead int

	in    []byte // read, and not all given yet
	r     int    // given up to here
	ready int    // may be given up to here
	start int    // of the head
	at    int    // read for line ends up to here

	part    framedPart
	left    int64 // of the body or chunk
	trailed int   // bytes of trailers
	over    bool  // nothing behind ready is given
	through bool  // no HTTP any more
}

// FramedListener gives the connections of l to an http.Server in such a way that
// requests with ambiguous framing (both Content-Length and Transfer-Encoding, or
// Transfer-Encoding in HTTP/1.0) are answered 400 and their connection is closed.
// maxHead is the server's MaxHeaderBytes.
func FramedListener(l net.Listener, maxHead int) net.Listener {
	return &framedListener{l, maxHead}
}

type framedListener struct {
	net.Listener
	maxHead int
}

// Accept gives the next connection.
func (l *framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c, maxHead: l.maxHead}, nil
}

// EndHTTP says that a handler has taken the connection over (http.Hijacker) and
// that what follows is another protocol.
func EndHTTP(c net.Conn) {
	var f *framedConn
	switch of := c.(type) {
	case *framedConn:
		f = of
	case *tlsFramedConn:
		f = &of.framedConn
	default:
		return
	}
	f.through, f.over, f.ready = true, false, len(f.in)
}

// CloseWrite ends our half: net/http does so where a client still sends.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Read gives what net/http may see of the connection.
func (c *framedConn) Read(p []byte) (int, error) {
	for {
		switch {
		case len(p) == 0:
			return 0, nil
		case c.r < c.ready:
			n := copy(p, c.in[c.r:c.ready])
			c.r += n
			return n, nil
		case c.over:
			return 0, io.EOF
		case c.through:
			return c.Conn.Read(p)
		case c.part == partBody && c.r == len(c.in):
			n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
			c.took(int64(n))
			return n, err
		}
		if err := c.fill(); err != nil {
			if !errors.Is(err, io.EOF) || c.r == len(c.in) {
				return 0, err
			}
			c.ready, c.over = len(c.in), true // half a head: net/http has an answer
			continue
		}
		c.advance()
	}
}

// fill reads more behind what is there.
func (c *framedConn) fill() error {
	switch {
	case c.part != partHead && c.r == len(c.in) && cap(c.in) > maxChunkLine+firstBuffer:
		c.in, c.r, c.ready, c.at = nil, 0, 0, 0 // a long head was the last to need it
	case c.part != partHead && c.r > 0:
		n := copy(c.in, c.in[c.r:])
		c.in, c.at, c.ready, c.r = c.in[:n], c.at-c.r, c.ready-c.r, 0
	}
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, max(firstBuffer, 2*cap(c.in))), c.in...)
	}
	n, err := c.Conn.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// advance moves ready over what is understood.
func (c *framedConn) advance() {
	for !c.over && c.at < len(c.in) && c.step() {
	}
}

// step takes one part of what was read; false when more has to come first.
func (c *framedConn) step() bool {
	switch c.part {
	case partBetween:
		if b := c.in[c.at]; b == '\r' || b == '\n' {
			c.at++
			c.ready = c.at
			return true
		}
		c.start, c.part = c.at, partHead
		return true
	case partHead:
		return c.stepHead()
	case partBody, partChunk:
		n := min(int64(len(c.in)-c.at), c.left)
		c.at += int(n)
		c.ready = c.at
		c.took(n)
		return true
	case partChunkEnd:
		if len(c.in)-c.at < len(crlf) {
			return false
		}
		if string(c.in[c.at:c.at+len(crlf)]) != crlf {
			return c.giveUp()
		}
		c.at += len(crlf)
		c.ready, c.part = c.at, partChunkLine
		return true
	case partChunkLine, partTrailer:
		return c.stepLine()
	}
	return false
}

// took counts bytes of a body or chunk.
func (c *framedConn) took(n int64) {
	if c.left -= n; c.left > 0 {
		return
	}
	if c.part == partChunk {
		c.part = partChunkEnd
	} else {
		c.part = partBetween
	}
}

// stepHead looks for the empty line. net/http takes a bare line feed for a line
// end, so that is one here too.
func (c *framedConn) stepHead() bool {
	if early := min(c.start+earlyBytes, len(c.in)); c.ready < early {
		c.ready = early
	}
	for {
		i := bytes.IndexByte(c.in[c.at:], '\n')
		if i < 0 {
			if len(c.in)-c.start > c.maxHead+headSlack {
				return c.giveUp()
			}
			return false
		}
		line := c.in[c.at : c.at+i]
		c.at += i + 1
		if len(bytes.TrimSuffix(line, []byte{'\r'})) == 0 {
			break
		}
	}
	kind, length := judgeFraming(c.in[c.start:c.at])
	switch kind {
	case framingSized:
		c.ready, c.left, c.part = c.at, length, partBody
		if length == 0 {
			c.part = partBetween
		}
	case framingChunked:
		c.ready, c.part, c.trailed = c.at, partChunkLine, 0
	case framingLast:
		c.ready, c.over = c.at, true
	case framingAmbiguous:
		c.in = append(c.in[:c.ready], refusedRest...)
		c.ready, c.over = len(c.in), true
	}
	return true
}

// stepLine takes the line before a chunk, or of the trailers.
func (c *framedConn) stepLine() bool {
	i := bytes.IndexByte(c.in[c.at:], '\n')
	if i > maxChunkLine || i < 0 && len(c.in)-c.at > maxChunkLine {
		return c.giveUp()
	}
	if i < 0 {
		return false
	}
	line, whole := bytes.CutSuffix(c.in[c.at:c.at+i], []byte{'\r'})
	c.at += i + 1
	c.ready = c.at
	if !whole {
		return c.giveUp()
	}
	if c.part == partTrailer {
		if c.trailed += i; c.trailed > c.maxHead {
			return c.giveUp()
		}
		if len(line) == 0 {
			c.part = partBetween
		}
		return true
	}
	size, ok := chunkLength(line)
	if !ok {
		return c.giveUp()
	}
	if c.left, c.part = size, partChunk; size == 0 {
		c.part = partTrailer
	}
	return true
}

// giveUp gives what is there, which net/http refuses, and nothing behind it.
func (c *framedConn) giveUp() bool {
	c.ready, c.over = len(c.in), true
	return true
}

// chunkLength reads the length of a chunk; extensions mean nothing.
func chunkLength(line []byte) (int64, bool) {
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

// judgeFraming reads a whole head for what says where its request ends.
func judgeFraming(head []byte) (kind framing, length int64) {
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
		case blank(line[0]):
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
	case codings > 0 && (lengths > 0 || !bytes.HasSuffix(requestLine, []byte(proto))):
		return framingAmbiguous, 0
	case refused:
		return framingLast, 0
	case codings == 1 && bytes.EqualFold(coding, []byte("chunked")):
		return framingChunked, 0
	case codings > 0:
		return framingLast, 0
	case lengths == 0:
		return framingSized, 0
	}
	n, ok := parseLength(size)
	if !ok {
		return framingLast, 0
	}
	return framingSized, n
}
