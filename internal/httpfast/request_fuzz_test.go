package httpfast

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzRequest holds that net/http reads every request that the fast path serves in the
// same way: method, target, header, body, whether the connection stays, and where the
// next request begins. The fast path may leave any request to net/http.
func FuzzRequest(f *testing.F) {
	for _, s := range slices.Concat(RequestCorpus(), OversizedRequests()) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &serverConn{ctx: t.Context(), template: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, buf: slices.Clone(b), w: len(b)}
		theirs := bufio.NewReader(bytes.NewReader(b))
		for first := true; ; first = false {
			rest := slices.Clone(c.buf[c.r:c.w])
			if c.parseHead() != headPlain {
				return
			}
			r, err := http.ReadRequest(theirs)
			if err != nil {
				t.Fatalf("net/http does not take %q: %v", rest, err)
			}
			q := c.beginRequest().request
			if got, want := describeRequest(q), describeRequest(r); got != want {
				t.Fatalf("%q\n%s\nby net/http\n%s", rest, got, want)
			}
			if first { // they are slow
				checkBeginnings(t, rest[:c.head.size])
				checkSharedHead(t, rest, q)
			}
			body, err := io.ReadAll(r.Body)
			if q.ContentLength > int64(c.w-c.r) {
				if err == nil { // a body of which the end is missing
					t.Fatalf("%q: net/http finds the end of the body %q", rest, body)
				}
				return
			}
			if err != nil {
				t.Fatalf("%q: net/http does not read the body: %v", rest, err)
			}
			if ours, err := io.ReadAll(q.Body); err != nil || !bytes.Equal(ours, body) {
				t.Fatalf("%q: %q, %v; by net/http %q", rest, ours, err, body)
			}
			if q.Close {
				return // nothing after it is a request
			}
		}
	})
}

// describeRequest says everything of a request that its head decides.
func describeRequest(r *http.Request) string {
	var header strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&header, "%q: %q\n", name, r.Header[name])
	}
	return fmt.Sprintf("%s %q %+v host %q %s %d.%d length %d close %t codings %q trailers %q\n%s", r.Method, r.RequestURI, *r.URL, r.Host,
		r.Proto, r.ProtoMajor, r.ProtoMinor, r.ContentLength, r.Close, r.TransferEncoding, r.Trailer, header.String())
}

// checkBeginnings holds that no beginning of a plain head was taken for something else:
// how the network cuts a request must not matter.
func checkBeginnings(t *testing.T, head []byte) {
	t.Helper()
	for i := range head {
		if i > 300 && i < len(head)-300 {
			continue // quadratic
		}
		var part requestHead
		if v := part.parse(head[:i]); v != headIncomplete {
			t.Fatalf("%q is %d, but %q is plain", head[:i], v, head)
		}
	}
}

// checkSharedHead holds that the same head once more on a connection gives the same
// request, and that every other head is parsed for itself.
func checkSharedHead(t *testing.T, b []byte, first *http.Request) {
	t.Helper()
	c := &serverConn{ctx: t.Context(), template: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}}
	load := func(b []byte) headVerdict {
		c.buf, c.r, c.w = slices.Clone(b), 0, len(b)
		return c.parseHead()
	}
	for range 2 {
		if load(b) != headPlain {
			t.Fatalf("%q is plain once only", b)
		}
	}
	size := c.head.size
	if got, want := describeRequest(c.beginRequest().request), describeRequest(first); got != want {
		t.Fatalf("%q\n%s\nthe second time\n%s", b, want, got)
	}
	if size > 2000 {
		return // what follows is quadratic
	}
	for i := range min(size, 300) {
		changed := slices.Clone(b)
		changed[i] ^= 1
		var alone requestHead
		v := alone.parse(changed)
		if w := load(changed); w != v && (v != headPlain || w != headForNetHTTP) {
			t.Fatalf("%q is %d alone and %d after %q", changed, v, w, b)
		} else if w == headPlain {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(changed)))
			if err != nil {
				t.Fatalf("net/http does not take %q: %v", changed, err)
			}
			if got, want := describeRequest(c.beginRequest().request), describeRequest(r); got != want {
				t.Fatalf("%q\n%s\nby net/http\n%s", changed, got, want)
			}
		}
		load(b)
	}
}

// FuzzFraming holds that net/http finds behind the framing check the requests that it
// finds without it, up to one that is refused: the check never changes what a request
// means, wherever the network cuts the bytes.
func FuzzFraming(f *testing.F) {
	const maxHead = 32 << 10
	for _, s := range RequestCorpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxHead {
			return // an http.Server refuses such heads itself, which http.ReadRequest does not
		}
		alone, _ := readRequests(bytes.NewReader(b))
		checked, end := readRequests(&framingConn{Conn: readerConn{Reader: bytes.NewReader(b)}, maxHead: maxHead})
		cut, cutEnd := readRequests(&framingConn{Conn: readerConn{Reader: iotest.OneByteReader(bytes.NewReader(b))}, maxHead: maxHead})
		if len(checked) > len(alone) || !slices.Equal(checked, alone[:len(checked)]) {
			t.Fatalf("%q\nis %q\nbut without the check %q", b, checked, alone)
		}
		if !slices.Equal(checked, cut) {
			t.Fatalf("%q\nis %q, %v\nbut byte by byte %q, %v", b, checked, end, cut, cutEnd)
		}
	})
}

// readRequests reads as many whole requests as http.ReadRequest finds, and the error
// that ended it.
func readRequests(from io.Reader) (all []string, err error) {
	for r := bufio.NewReader(from); ; {
		q, err := http.ReadRequest(r)
		if err != nil {
			return all, err
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%sbody %q", describeRequest(q), body))
		if q.Close {
			return all, io.EOF
		}
	}
}

// readerConn is a connection that can only be read.
type readerConn struct {
	net.Conn
	io.Reader
}

func (c readerConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }
