package httpfast

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// FuzzHead holds that whatever is taken for a plain request net/http reads too,
// with the same meaning, and that no beginning of it was taken for another.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"POST /mcp HTTP/1.1\r\nHost: x:1\r\nContent-Length: 3\r\nAccept: a, b\r\nmcp-session-ID:\t z \r\n\r\nabcPOST",
		"POST /a?b=c%20d HTTP/1.1\r\nHost: [::1]:8\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n",
		"POST //a#b HTTP/1.1\r\nhost: x\r\nCONTENT-LENGTH: 1\r\nX: 1\r\nX: 2\r\nX:\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\nContent-Length: 2\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nPragma: no-cache\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: x\r\n Content-Length: 1\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\na",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h requestHead
		if h.parse(b) != headPlain {
			return
		}
		for i := range h.size {
			var part requestHead
			if v := part.parse(b[:i]); v != headIncomplete {
				t.Fatalf("%q is %d, but %q is plain", b[:i], v, b)
			}
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		c := &serverConn{ctx: t.Context(), template: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, buf: slices.Clone(b), w: len(b)}
		if c.parseHead() != headPlain {
			if err == nil && strings.HasPrefix(r.RequestURI, "/") {
				t.Fatalf("only net/http reads the target of %q", b)
			}
			return
		}
		if err != nil {
			t.Fatalf("net/http does not take %q: %v", b, err)
		}
		q := c.beginRequest().request
		if q.Method != r.Method || q.Host != r.Host || q.RequestURI != r.RequestURI || *q.URL != *r.URL || q.Proto != r.Proto ||
			q.ProtoMajor != r.ProtoMajor || q.ProtoMinor != r.ProtoMinor ||
			q.ContentLength != r.ContentLength || q.Close != r.Close || len(r.TransferEncoding) != 0 || len(r.Trailer) != 0 {
			t.Fatalf("%q\n%+v\n%+v", b, q, r)
		}
		if !maps.EqualFunc(q.Header, r.Header, slices.Equal[[]string]) {
			t.Fatalf("%q\n%q\n%q", b, q.Header, r.Header)
		}
		if rest := b[h.size:]; int64(len(rest)) >= q.ContentLength {
			ours, err := io.ReadAll(q.Body)
			theirs, err2 := io.ReadAll(r.Body)
			if err != nil || err2 != nil || !bytes.Equal(ours, theirs) || !bytes.Equal(c.buf[c.r:c.w], rest[q.ContentLength:]) {
				t.Fatalf("%q: %q and %q, %v and %v, %q is left", b, ours, theirs, err, err2, c.buf[c.r:c.w])
			}
		}
		again(t, c, b, h.size, q)
	})
}

// again holds that the same head once more gives the same request, and that any
// other is read for itself.
func again(t *testing.T, c *serverConn, b []byte, size int, first *http.Request) {
	t.Helper()
	c.buf, c.r, c.w = slices.Clone(b), 0, len(b)
	if c.parseHead() != headPlain {
		t.Fatalf("%q is plain once only", b)
	}
	second := c.beginRequest().request
	if second.Host != first.Host || *second.URL != *first.URL || second.ContentLength != first.ContentLength || !maps.EqualFunc(first.Header, second.Header, slices.Equal[[]string]) {
		t.Fatalf("%q\n%+v\n%+v", b, first, second)
	}
	for i := range size {
		changed := slices.Clone(b)
		changed[i] ^= 1
		var alone requestHead
		v := alone.parse(changed)
		c.buf, c.r, c.w = slices.Clone(changed), 0, len(b)
		if w := c.parseHead(); w != v && (v != headPlain || w != headForNetHTTP) {
			t.Fatalf("%q is %d alone and %d behind %q", changed, v, w, b)
		} else if w == headPlain {
			if r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(changed))); err != nil || !maps.EqualFunc(c.template.Header, r.Header, slices.Equal[[]string]) {
				t.Fatalf("%q: %v", changed, err)
			}
		}
	}
}
