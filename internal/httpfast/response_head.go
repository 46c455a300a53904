package httpfast

import (
	"bytes"
	"errors"
	"time"
)

// What is read here decides where one answer ends and the next begins, so it is
// read in one way only: whatever two readers could take differently is refused,
// also where others are lenient.

const (
	maxInterimResponses = 8         // 1xx answers before the one that counts
	maxKeepAliveSeconds = 24 * 3600 // seconds that a server may say it keeps a connection
)

var (
	errStatusLine = errors.New("the answer does not begin with an HTTP/1 status line")
	errLineEnd    = errors.New("a line of the answer's head does not end with CRLF")
	errField      = errors.New("a header field of the answer is malformed")
	errFraming    = errors.New("the answer says in more than one way, or in none that is valid, how long it is")
	errInterim    = errors.New("the answer switches protocols, or only announces itself")
	errChunk      = errors.New("a chunk of the answer is malformed")
)

// responseHead is what the head of an answer says of how it is to be read.
type responseHead struct {
	status        int
	minorVersion  byte  // of HTTP/1.x: '0' or '1'
	length        int64 // -1 is not said
	chunked       bool
	willClose     bool          // the connection ends with this answer
	keepAliveTime time.Duration // how long the server keeps it; 0 is not said
	interimCount  int           // answers before this one
}

// parseStatusLine takes the first line, without its CRLF.
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

// parseField takes one header line, without its CRLF.
func (h *responseHead) parseField(line []byte) error {
	name, value, ok := splitField(line)
	if !ok {
		return errField
	}
	switch len(name) { // few are looked at, and most lines are none of them
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

// finishHead judges the head as a whole. interim says that another follows.
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

// hasNoBody says that an answer of this status has no body, whatever it says.
func (h *responseHead) hasNoBody() bool { return h.status == 204 || h.status == 304 }

func (h *responseHead) parseConnection(value []byte) {
	for token := range bytes.SplitSeq(value, []byte{','}) {
		if equalFoldASCII(bytes.Trim(token, " \t"), "close") {
			h.willClose = true
		}
	}
}

// parseKeepAlive reads how long a server keeps connections that it does not use.
func (h *responseHead) parseKeepAlive(value []byte) {
	for param := range bytes.SplitSeq(value, []byte{','}) {
		name, seconds, _ := bytes.Cut(bytes.Trim(param, " \t"), []byte{'='})
		if n, ok := parseDecimal(seconds); ok && equalFoldASCII(name, "timeout") {
			h.keepAliveTime = time.Duration(min(n, maxKeepAliveSeconds)) * time.Second
			h.willClose = h.willClose || n == 0
		}
	}
}

// splitField gives the name and value of a header line. A line that goes on from
// the one before, or has blanks before its colon, is none.
func splitField(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, false
	}
	name, value = line[:colon], bytes.Trim(line[colon+1:], " \t")
	for _, b := range name {
		if !isTokenByte(b) {
			return nil, nil, false
		}
	}
	return name, value, isFieldText(value)
}

// findField gives the first value of a header among lines, each with its CRLF.
func findField(lines []byte, name string) []byte {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		line := lines[:end-1]
		lines = lines[end+1:]
		if len(line) > len(name) && line[len(name)] == ':' && equalFoldASCII(line[:len(name)], name) {
			return bytes.Trim(line[len(name)+1:], " \t")
		}
	}
	return nil
}

// parseChunkSize reads the line before a chunk: digits only, and then perhaps
// extensions, which mean nothing here.
func parseChunkSize(line []byte) (int64, error) {
	digits, extension, _ := bytes.Cut(line, []byte{';'})
	if len(digits) == 0 || len(digits) > 15 || !isFieldText(extension) {
		return 0, errChunk
	}
	var n int64
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			d = d | 0x20 - 'a' + 10
		default:
			return 0, errChunk
		}
		n = n<<4 | int64(d)
	}
	return n, nil
}

// isFieldText says whether b may stand in a header's value.
func isFieldText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// equalFoldASCII compares ASCII without regard to case.
func equalFoldASCII(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if toLowerASCII(b[i]) != toLowerASCII(s[i]) {
			return false
		}
	}
	return true
}

func toLowerASCII(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}
