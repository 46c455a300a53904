package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// These limits keep a broken server from using all memory.
const (
	maxAnswer  = 64 << 20
	maxHeaders = 256
)

// answer is one HTTP response, reduced to what a load generator needs. Its body
// is valid until the next response is read into the same buffer.
type answer struct {
	status int
	// Of the header Mcp-Session-Id.
	session string
	// The body is an event stream.
	isStream bool
	// The connection ends with this response.
	closesConn bool
	body       []byte
}

// readAnswer reads one HTTP/1.1 response to a POST or GET, its body into buf. It
// skips interim (1xx) responses.
func readAnswer(br *bufio.Reader, buf []byte) (answer, error) {
	for range 8 {
		a, err := readOneAnswer(br, buf[:0])
		if err != nil || a.status >= 200 {
			return a, err
		}
	}
	return answer{}, errors.New("more than 8 interim answers")
}

// framing says how the body of a response is delimited.
type framing struct {
	length  int // -1 if unknown
	chunked bool
}

// readOneAnswer reads one response, which may be an interim one.
func readOneAnswer(br *bufio.Reader, buf []byte) (answer, error) {
	var a answer
	line, err := readLine(br)
	if err != nil {
		return a, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return a, fmt.Errorf("bad status line %.40q", line)
	}
	if a.status, err = parseDigits(line[9:12], 10, 999); err != nil || a.status < 100 {
		return a, fmt.Errorf("bad status line %.40q", line)
	}
	// A server that speaks HTTP/1.0 closes the connection after each response.
	old := line[7] == '0'
	a.closesConn = old
	f, err := readHead(br, &a)
	if err != nil {
		return a, err
	}
	if old && f.chunked {
		return a, errors.New("HTTP/1.0 has no Transfer-Encoding")
	}
	switch {
	case a.status < 200 || a.status == 204 || a.status == 304:
	case f.chunked:
		a.body, err = appendChunks(br, buf)
	case f.length >= 0:
		a.body, err = appendBytes(br, buf, f.length)
	default:
		a.closesConn = true
		a.body, err = appendToEnd(br, buf)
	}
	return a, err
}

// readHead reads the headers up to the empty line. It refuses ambiguous framing.
func readHead(br *bufio.Reader, a *answer) (framing, error) {
	f := framing{length: -1}
	for range maxHeaders {
		line, err := readLine(br)
		if err != nil || len(line) == 0 {
			return f, err
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t") {
			return f, fmt.Errorf("bad header line %.40q", line)
		}
		value = bytes.Trim(value, " \t")
		switch {
		case equalsFold(name, "content-length"):
			n, err := parseDigits(value, 10, maxAnswer)
			if err != nil || f.length >= 0 && n != f.length {
				return f, fmt.Errorf("bad Content-Length %.40q", value)
			}
			f.length = n
		case equalsFold(name, "transfer-encoding"):
			if !equalsFold(value, "chunked") || f.chunked {
				return f, fmt.Errorf("unknown Transfer-Encoding %.40q", value)
			}
			f.chunked = true
		case equalsFold(name, "connection"):
			a.closesConn = a.closesConn || equalsFold(value, "close")
		case equalsFold(name, "content-type"):
			a.isStream = bytes.HasPrefix(value, []byte("text/event-stream"))
		case equalsFold(name, "mcp-session-id"):
			a.session = string(value)
		}
	}
	return f, fmt.Errorf("more than %d headers", maxHeaders)
}

// readLine returns a line without its end. It is valid until the next read.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// appendBytes appends n bytes of the body to buf.
func appendBytes(br *bufio.Reader, buf []byte, n int) ([]byte, error) {
	if len(buf)+n > maxAnswer {
		return buf, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	// Grow as bytes arrive, so that a false length costs no memory.
	for n > 0 {
		step := min(n, max(1<<20, cap(buf)-len(buf)))
		at := len(buf)
		buf = slices.Grow(buf, step)[:at+step]
		got, err := io.ReadFull(br, buf[at:])
		if err != nil {
			return buf[:at+got], asUnexpectedEOF(err)
		}
		n -= step
	}
	return buf, nil
}

// appendChunks appends a chunked body to buf.
func appendChunks(br *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		line, err := readLine(br)
		if err != nil {
			return buf, asUnexpectedEOF(err)
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := parseDigits(bytes.TrimRight(size, " \t"), 16, maxAnswer)
		if err != nil {
			return buf, fmt.Errorf("bad chunk size %.40q", line)
		}
		if n == 0 {
			return buf, readTrailers(br)
		}
		if buf, err = appendBytes(br, buf, n); err != nil {
			return buf, err
		}
		if line, err = readLine(br); err != nil || len(line) > 0 {
			return buf, fmt.Errorf("a chunk does not end where it says: %.40q, %w", line, asUnexpectedEOF(err))
		}
	}
}

// readTrailers skips the trailers of a chunked body.
func readTrailers(br *bufio.Reader) error {
	for range maxHeaders {
		if line, err := readLine(br); err != nil || len(line) == 0 {
			return asUnexpectedEOF(err)
		}
	}
	return fmt.Errorf("more than %d trailers", maxHeaders)
}

// appendToEnd appends a body that ends with its connection.
func appendToEnd(br *bufio.Reader, buf []byte) ([]byte, error) {
	for len(buf) <= maxAnswer {
		buf = slices.Grow(buf, 4<<10)
		n, err := br.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
}

// parseDigits reads a number without sign, space or underscore, up to limit.
func parseDigits(b []byte, base, limit int) (int, error) {
	if len(b) == 0 || len(b) > 16 || b[0] == '+' || b[0] == '-' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(string(b), base, 64)
	if err != nil || n > int64(limit) {
		return 0, strconv.ErrRange
	}
	return int(n), nil
}

// asUnexpectedEOF replaces io.EOF in the middle of a response by
// io.ErrUnexpectedEOF.
func asUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// equalsFold compares without ASCII case and without allocating; want is in lower
// case.
func equalsFold(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// jsonMessage returns the JSON-RPC message of a response: the body itself, or the
// data of the last event of a stream.
func (a answer) jsonMessage() []byte {
	if !a.isStream {
		return a.body
	}
	var last []byte
	for line := range bytes.Lines(a.body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}
