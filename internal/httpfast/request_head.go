package httpfast

import (
	"bytes"
	"net/http"
	"strings"
)

// headVerdict is what the bytes at the beginning of a request say.
type headVerdict int

const (
	headIncomplete headVerdict = iota // nothing yet: the head is not complete
	headPlain                         // ours
	headForNetHTTP                    // not ours: for net/http to judge
)

// requestHead is a plain request up to its body. It is read twice: first judged, with
// nothing kept but places in the bytes, then taken out as strings.
type requestHead struct {
	size   int // bytes, with the empty line
	target span
	host   span
	lines  []headerLine
	length int64
	close  bool // the client asks for the connection to be closed
}

type span struct{ from, to int }

type headerLine struct{ name, value span }

const (
	postPrefix     = "POST "
	protocolSuffix = " HTTP/1.1"
	crlf           = "\r\n"
)

// parse says whether b begins with the head of a plain request: HTTP/1.1, POST, a
// path, header lines of visible ASCII that are not folded, one Host, one
// Content-Length, and nothing that changes where the body ends or who the
// connection belongs to afterwards. What it takes, net/http takes with the same
// meaning.
func (h *requestHead) parse(b []byte) headVerdict {
	if n := min(len(b), len(postPrefix)); string(b[:n]) != postPrefix[:n] {
		return headForNetHTTP
	}
	end := bytes.Index(b, []byte(crlf+crlf))
	if end < 0 {
		return judgeIncomplete(b)
	}
	h.size = end + 2*len(crlf)
	h.lines, h.host, h.length, h.close = h.lines[:0], span{}, -1, false
	at := bytes.IndexByte(b, '\n') + 1
	if !h.parseRequestLine(b[:at]) {
		return headForNetHTTP
	}
	connection := false
	for at < end+len(crlf) {
		next := at + bytes.IndexByte(b[at:], '\n') + 1
		l, ok := splitHeaderLine(b, at, next)
		if !ok {
			return headForNetHTTP
		}
		h.lines = append(h.lines, l)
		switch value := b[l.value.from:l.value.to]; classifyHeader(b[l.name.from:l.name.to]) {
		case kindOrdinary:
		case kindHost:
			if h.host.to != 0 || !isPlainHost(value) {
				return headForNetHTTP
			}
			h.host = l.value
		case kindContentLength:
			if h.length >= 0 || !h.parseContentLength(value) {
				return headForNetHTTP
			}
		case kindConnection:
			h.close = bytes.EqualFold(value, []byte("close"))
			if connection || !h.close && !bytes.EqualFold(value, []byte("keep-alive")) {
				return headForNetHTTP
			}
			connection = true
		case kindNotPlain:
			return headForNetHTTP
		}
		at = next
	}
	if h.host.to == 0 || h.length < 0 {
		return headForNetHTTP
	}
	return headPlain
}

// judgeIncomplete judges a head whose end has not come. A line that ends without a
// carriage return could hide an end that only others see.
func judgeIncomplete(b []byte) headVerdict {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return headIncomplete
		}
		if at += i; b[at-1] != '\r' { // b begins as a request does
			return headForNetHTTP
		}
		at++
	}
}

// parseRequestLine takes "POST /path HTTP/1.1" with its line end.
func (h *requestHead) parseRequestLine(b []byte) bool {
	rest, ok := bytes.CutSuffix(b, []byte(protocolSuffix+crlf))
	if !ok || len(rest) <= len(postPrefix) || rest[len(postPrefix)] != '/' {
		return false
	}
	h.target = span{len(postPrefix), len(rest)}
	for _, c := range rest[len(postPrefix):] {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// splitHeaderLine takes "Name: value" with its line end, from at to next.
func splitHeaderLine(b []byte, at, next int) (headerLine, bool) {
	end := next - len(crlf)
	if end < at || b[end] != '\r' {
		return headerLine{}, false
	}
	colon := bytes.IndexByte(b[at:end], ':')
	if colon <= 0 {
		return headerLine{}, false
	}
	l := headerLine{name: span{at, at + colon}, value: span{at + colon + 1, end}}
	for _, c := range b[l.name.from:l.name.to] {
		if !isTokenByte(c) {
			return headerLine{}, false
		}
	}
	for _, c := range b[l.value.from:l.value.to] {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return headerLine{}, false
		}
	}
	for l.value.from < l.value.to && isBlank(b[l.value.from]) {
		l.value.from++
	}
	for l.value.from < l.value.to && isBlank(b[l.value.to-1]) {
		l.value.to--
	}
	return l, true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isTokenByte(c byte) bool {
	return isAlphanumeric(c) || c == '-' || strings.IndexByte("!#$%&'*+.^_`|~", c) >= 0
}

// headerKind is what a header is to the reader of a request.
type headerKind int

const (
	kindOrdinary headerKind = iota
	kindHost
	kindContentLength
	kindConnection
	kindNotPlain
)

// classifyHeader finds the headers that mean something for the connection. Pragma and
// Trailer are among them because net/http changes other headers for them.
func classifyHeader(name []byte) headerKind {
	is := func(s string) bool { return bytes.EqualFold(name, []byte(s)) }
	switch len(name) {
	case len("Host"):
		if is("Host") {
			return kindHost
		}
	case len("Content-Length"):
		if is("Content-Length") {
			return kindContentLength
		}
	case len("Connection"):
		if is("Connection") {
			return kindConnection
		}
	case len("Transfer-Encoding"):
		if is("Transfer-Encoding") {
			return kindNotPlain
		}
	case len("Expect"): // and Pragma
		if is("Expect") || is("Pragma") {
			return kindNotPlain
		}
	case len("Upgrade"): // and Trailer
		if is("Upgrade") || is("Trailer") {
			return kindNotPlain
		}
	}
	return kindOrdinary
}

// isPlainHost takes names, addresses and ports; all else that a Host may hold is rare.
func isPlainHost(b []byte) bool {
	for _, c := range b {
		if !isAlphanumeric(c) && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return len(b) > 0
}

// parseContentLength takes a length in digits alone, of a size that no sum overflows.
func (h *requestHead) parseContentLength(b []byte) bool {
	n, ok := parseDecimal(b)
	if ok {
		h.length = n
	}
	return ok
}

// parseDecimal reads a Content-Length of digits alone, small enough that no sum of
// lengths overflows.
func parseDecimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// buildHeader gives the lines as net/http does: names in canonical form, Host apart.
// It writes the canonical names into b.
func (h *requestHead) buildHeader(b []byte) (host string, header http.Header) {
	for _, l := range h.lines {
		canonicalizeName(b[l.name.from:l.name.to])
	}
	text := string(b) // all that is given is a part of it
	header = make(http.Header, len(h.lines)-1)
	values := make([]string, len(h.lines))
	for i, l := range h.lines {
		if l.value == h.host {
			continue
		}
		name := text[l.name.from:l.name.to]
		values[i] = text[l.value.from:l.value.to]
		if had, ok := header[name]; ok {
			header[name] = append(had, values[i])
			continue
		}
		header[name] = values[i : i+1 : i+1]
	}
	return text[h.host.from:h.host.to], header
}

// canonicalizeName writes a name as textproto.CanonicalMIMEHeaderKey does.
func canonicalizeName(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && 'a' <= c && c <= 'z':
			name[i] = c - ('a' - 'A')
		case !upper && 'A' <= c && c <= 'Z':
			name[i] = c + ('a' - 'A')
		}
		upper = c == '-'
	}
}
