package entrance

import (
	"bytes"
	"net/http"
	"strings"
)

// verdict is what the bytes at the beginning of a request say.
type verdict int

const (
	more  verdict = iota // nothing yet: the head is not complete
	plain                // ours
	other                // not ours: for net/http to judge
)

// head is a plain request up to its body. It is read twice: first judged, with
// nothing kept but places in the bytes, then taken out as strings.
type head struct {
	size   int // bytes, with the empty line
	target span
	host   span
	lines  []line
	length int64
	close  bool // the client asks for the connection to be closed
}

type span struct{ from, to int }

type line struct{ name, value span }

const (
	begins = "POST "
	proto  = " HTTP/1.1"
	crlf   = "\r\n"
)

// judge says whether b begins with the head of a plain request: HTTP/1.1, POST, a
// path, header lines of visible ASCII that are not folded, one Host, one
// Content-Length, and nothing that changes where the body ends or who the
// connection belongs to afterwards. What it takes, net/http takes with the same
// meaning.
func (h *head) judge(b []byte) verdict {
	if n := min(len(b), len(begins)); string(b[:n]) != begins[:n] {
		return other
	}
	end := bytes.Index(b, []byte(crlf+crlf))
	if end < 0 {
		return unfinished(b)
	}
	h.size = end + 2*len(crlf)
	h.lines, h.host, h.length, h.close = h.lines[:0], span{}, -1, false
	at := bytes.IndexByte(b, '\n') + 1
	if !h.requestLine(b[:at]) {
		return other
	}
	connection := false
	for at < end+len(crlf) {
		next := at + bytes.IndexByte(b[at:], '\n') + 1
		l, ok := split(b, at, next)
		if !ok {
			return other
		}
		h.lines = append(h.lines, l)
		switch value := b[l.value.from:l.value.to]; special(b[l.name.from:l.name.to]) {
		case ordinary:
		case host:
			if h.host.to != 0 || !hostname(value) {
				return other
			}
			h.host = l.value
		case contentLength:
			if h.length >= 0 || !h.number(value) {
				return other
			}
		case connectionOptions:
			h.close = bytes.EqualFold(value, []byte("close"))
			if connection || !h.close && !bytes.EqualFold(value, []byte("keep-alive")) {
				return other
			}
			connection = true
		case notPlain:
			return other
		}
		at = next
	}
	if h.host.to == 0 || h.length < 0 {
		return other
	}
	return plain
}

// unfinished judges a head whose end has not come. A line that ends without a
// carriage return could hide an end that only others see.
func unfinished(b []byte) verdict {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return more
		}
		if at += i; b[at-1] != '\r' { // b begins as a request does
			return other
		}
		at++
	}
}

// requestLine takes "POST /path HTTP/1.1" with its line end.
func (h *head) requestLine(b []byte) bool {
	rest, ok := bytes.CutSuffix(b, []byte(proto+crlf))
	if !ok || len(rest) <= len(begins) || rest[len(begins)] != '/' {
		return false
	}
	h.target = span{len(begins), len(rest)}
	for _, c := range rest[len(begins):] {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// split takes "Name: value" with its line end, from at to next.
func split(b []byte, at, next int) (line, bool) {
	end := next - len(crlf)
	if end < at || b[end] != '\r' {
		return line{}, false
	}
	colon := bytes.IndexByte(b[at:end], ':')
	if colon <= 0 {
		return line{}, false
	}
	l := line{name: span{at, at + colon}, value: span{at + colon + 1, end}}
	for _, c := range b[l.name.from:l.name.to] {
		if !token(c) {
			return line{}, false
		}
	}
	for _, c := range b[l.value.from:l.value.to] {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return line{}, false
		}
	}
	for l.value.from < l.value.to && blank(b[l.value.from]) {
		l.value.from++
	}
	for l.value.from < l.value.to && blank(b[l.value.to-1]) {
		l.value.to--
	}
	return l, true
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func token(c byte) bool {
	return letterOrDigit(c) || c == '-' || strings.IndexByte("!#$%&'*+.^_`|~", c) >= 0
}

// meaning is what a header is to the reader of a request.
type meaning int

const (
	ordinary meaning = iota
	host
	contentLength
	connectionOptions
	notPlain
)

// special finds the headers that mean something for the connection. Pragma and
// Trailer are among them because net/http changes other headers for them.
func special(name []byte) meaning {
	is := func(s string) bool { return bytes.EqualFold(name, []byte(s)) }
	switch len(name) {
	case len("Host"):
		if is("Host") {
			return host
		}
	case len("Content-Length"):
		if is("Content-Length") {
			return contentLength
		}
	case len("Connection"):
		if is("Connection") {
			return connectionOptions
		}
	case len("Transfer-Encoding"):
		if is("Transfer-Encoding") {
			return notPlain
		}
	case len("Expect"): // and Pragma
		if is("Expect") || is("Pragma") {
			return notPlain
		}
	case len("Upgrade"): // and Trailer
		if is("Upgrade") || is("Trailer") {
			return notPlain
		}
	}
	return ordinary
}

// hostname takes names, addresses and ports; all else that a Host may hold is rare.
func hostname(b []byte) bool {
	for _, c := range b {
		if !letterOrDigit(c) && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return len(b) > 0
}

// number takes a length in digits alone, of a size that no sum overflows.
func (h *head) number(b []byte) bool {
	n, ok := parseLength(b)
	if ok {
		h.length = n
	}
	return ok
}

// parseLength reads a Content-Length of digits alone, small enough that no sum of
// lengths overflows.
func parseLength(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 15 {
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

// header gives the lines as net/http does: names in canonical form, Host apart.
// It writes the canonical names into b.
func (h *head) header(b []byte) (host string, header http.Header) {
	for _, l := range h.lines {
		canonical(b[l.name.from:l.name.to])
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

// canonical writes a name as textproto.CanonicalMIMEHeaderKey does.
func canonical(name []byte) {
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
