package httpfast

import (
	"bytes"
	"errors"
	"time"
)

// The head of a response decides where the response ends and the next one
// begins. So it is read strictly: everything that two parsers could read
// differently is an error, even where net/http is lenient.

const (
	maxInterimResponses = 8         // 1xx responses before the final one
	maxKeepAliveSeconds = 24 * 3600 // more in a Keep-Alive field counts as this
)

var (
	errStatusLine = errors.New("the answer does not begin with an HTTP/1 status line")
	errLineEnd    = errors.New("a line of the answer's head does not end with CRLF")
	errField      = errors.New("a header field of the answer is malformed")
	errFraming    = errors.New("the answer says in more than one way, or in none that is valid, how long it is")
	errInterim    = errors.New("the answer switches protocols, or only announces itself")
	errChunk      = errors.New("a chunk of the answer is malformed")
)

// responseHead is the part of a response's head that matters for reading the response.
type responseHead struct {
	status        int
	minorVersion  byte  // of HTTP/1.x: '0' or '1'
	length        int64 // of the body; -1: not declared
	chunked       bool
	willClose     bool          // the connection ends with this response
	keepAliveTime time.Duration // how long the server keeps an idle connection; 0: not declared
	interimCount  int           // 1xx responses before this one
}

// parseStatusLine reads the first line, without its CRLF, and resets the head.
func (h *responseHead) parseStatusLine(line []byte) error {
	const version = "HTTP/1."
	if len(line) < len(version)+5 || string(line[:len(version)]) != version {
		return errStatusLine
	}
	minor, rest := line[len(version)], line[len(version)+1:]
	if minor != '0' && minor != '1' || rest[0] != ' ' || len(rest) > 4 && rest[4] != ' ' || !isFieldText(rest) {
		return errStatusLine
	}
	status := 0
	for _, d := range rest[1:4] {
		if d < '0' || d > '9' {
			return errStatusLine
		}
		status = status*10 + int(d-'0')
	}
	if status < 100 {
		return errStatusLine
	}
	*h = responseHead{status: status, minorVersion: minor, length: -1, willClose: minor == '0', interimCount: h.interimCount}
	return nil
}

// parseField reads one header line, without its CRLF. It refuses a second
// Content-Length, even an equal one, and every transfer coding but chunked.
func (h *responseHead) parseField(line []byte) error {
	name, value, ok := splitField(line)
	if !ok {
		return errField
	}
	switch len(name) { // most lines are none of these fields, and are not compared
	case len("Connection"): // and Keep-Alive
		if equalFoldASCII(name, "connection") {
			h.parseConnection(value)
		} else if equalFoldASCII(name, "keep-alive") {
			h.parseKeepAlive(value)
		}
	case len("Content-Length"):
		if equalFoldASCII(name, "content-length") {
			n, ok := parseDecimal(value)
			if !ok || h.length >= 0 {
				return errFraming
			}
			h.length = n
		}
	case len("Transfer-Encoding"):
		if equalFoldASCII(name, "transfer-encoding") {
			if h.chunked || !equalFoldASCII(value, "chunked") {
				return errFraming
			}
			h.chunked = true
		}
	}
	return nil
}

// finishHead checks the head as a whole. interim means that another head follows.
func (h *responseHead) finishHead() (interim bool, err error) {
	if h.chunked && (h.length >= 0 || h.minorVersion == '0') {
		return false, errFraming
	}
	if h.status >= 200 {
		return false, nil
	}
	if h.interimCount++; h.status == 101 || h.interimCount > maxInterimResponses || h.length > 0 || h.chunked {
		return false, errInterim
	}
	return true, nil
}

// hasNoBody reports whether a response with this status never has a body.
func (h *responseHead) hasNoBody() bool { return h.status == 204 || h.status == 304 }

// parseConnection looks for the option close, which may stand in a list.
func (h *responseHead) parseConnection(value []byte) {
	for token := range bytes.SplitSeq(value, []byte{','}) {
		if equalFoldASCII(trimBlanks(token), "close") {
			h.willClose = true
		}
	}
}

// parseKeepAlive reads how long the server keeps an idle connection.
func (h *responseHead) parseKeepAlive(value []byte) {
	for param := range bytes.SplitSeq(value, []byte{','}) {
		name, seconds, _ := bytes.Cut(trimBlanks(param), []byte{'='})
		if n, ok := parseDecimal(seconds); ok && equalFoldASCII(name, "timeout") {
			h.keepAliveTime = time.Duration(min(n, maxKeepAliveSeconds)) * time.Second
			h.willClose = h.willClose || n == 0
		}
	}
}

// splitField returns the name and value of a header line. It refuses a line that
// continues the one before (obs-fold), and blanks before the colon.
func splitField(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, false
	}
	name, value = line[:colon], trimBlanks(line[colon+1:])
	for _, b := range name {
		if !isTokenByte(b) {
			return nil, nil, false
		}
	}
	return name, value, isFieldText(value)
}

// findField returns the first value of a header field. lines are header lines that
// parseField has accepted, each with its CRLF.
func findField(lines []byte, name string) []byte {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		line := lines[:end-1]
		lines = lines[end+1:]
		if len(line) > len(name) && line[len(name)] == ':' && equalFoldASCII(line[:len(name)], name) {
			return trimBlanks(line[len(name)+1:])
		}
	}
	return nil
}

// parseChunkSize reads the line before a chunk: hexadecimal digits, and then perhaps
// extensions, which are ignored. Unlike net/http it accepts no blanks.
func parseChunkSize(line []byte) (int64, error) {
	digits, extension, _ := bytes.Cut(line, []byte{';'})
	n, ok := parseHex(digits)
	if !ok || !isFieldText(extension) {
		return 0, errChunk
	}
	return n, nil
}
