package httpfast

import (
	"bytes"
	"net/http"
	"strings"
)

// headVerdict is the result of looking at the first bytes of a request.
type headVerdict int

const (
	headIncomplete headVerdict = iota // more bytes have to come first
	headPlain                         // the fast path serves the request
	headForNetHTTP                    // net/http has to read the request
)

// requestHead is the head of a plain request. parse keeps only positions in the bytes;
// buildHeader makes strings of them, once it is known that the request is plain.
type requestHead struct {
	size   int // in bytes, with the empty line
	target span
	host   span
	lines  []headerLine
	length int64 // of the body
	close  bool  // the client asks for the connection to be closed
}

// span is a range of bytes in a head.
type span struct{ from, to int }

// headerLine is where a header field stands in a head, without blanks and line end.
type headerLine struct{ name, value span }

const (
	postPrefix     = "POST "
	protocolSuffix = " HTTP/1.1"
)

// parse reports whether b begins with the head of a plain request: HTTP/1.1, POST, a
// path, unfolded header lines of visible ASCII that end with CRLF, one Host, one
// Content-Length, and no field that changes where the body ends or what happens to
// the connection afterwards. FuzzRequest holds that net/http reads every plain head
// in the same way.
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
			n, ok := parseDecimal(value)
			if !ok || h.length >= 0 {
				return headForNetHTTP
			}
			h.length = n
		case kindConnection:
			h.close = equalFoldASCII(value, "close")
			if connection || !h.close && !equalFoldASCII(value, "keep-alive") {
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

// judgeIncomplete looks at a head whose end has not arrived. A line that ends with a
// bare LF goes to net/http at once: net/http would take an empty one for the end of
// the head, and waiting for CRLF CRLF would read into the body.
func judgeIncomplete(b []byte) headVerdict {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return headIncomplete
		}
		if at += i; b[at-1] != '\r' { // b begins with "POST ", so at > 0
			return headForNetHTTP
		}
		at++
	}
}

// parseRequestLine reads "POST /path HTTP/1.1" with its line end. A target of any
// other form, such as an absolute URL, is not plain.
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

// splitHeaderLine reads "Name: value" with its line end, b[at:next]. It refuses lines
// that continue the one before (obs-fold) and blanks before the colon.
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

// headerKind is what a header field means for parsing a request.
type headerKind int

const (
	kindOrdinary headerKind = iota
	kindHost
	kindContentLength
	kindConnection
	kindNotPlain
)

// classifyHeader finds the header fields that matter for the connection. Pragma and
// Trailer are among them because net/http changes other fields when they are set.
func classifyHeader(name []byte) headerKind {
	is := func(s string) bool { return equalFoldASCII(name, s) }
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

// isPlainHost accepts names, addresses and ports. Everything else that a Host may
// hold is rare and left to net/http.
func isPlainHost(b []byte) bool {
	for _, c := range b {
		if !isAlphanumeric(c) && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return len(b) > 0
}

// buildHeader makes what net/http would make of the header lines: names in canonical
// form, Host apart. b is the head that parse accepted; the canonical names are
// written into it.
func (h *requestHead) buildHeader(b []byte) (host string, header http.Header) {
	for _, l := range h.lines {
		canonicalizeName(b[l.name.from:l.name.to])
	}
	text := string(b) // one allocation: all names and values are parts of it
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

// canonicalizeName changes a name as textproto.CanonicalMIMEHeaderKey does.
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
