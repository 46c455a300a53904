package httpfast_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// FuzzConversation holds that whatever a client sends, the handler is asked the
// same, in the same order, as behind net/http alone, and the client sees the same
// statuses and bodies: nobody can make the two take different things for a
// request.
func FuzzConversation(f *testing.F) {
	for _, s := range []string{
		post("abc") + post("") + "GET / HTTP/1.1\r\nHost: x\r\n\r\n" + post("d"),
		post("abc", "Connection: close") + post("d"),
		post("abc", "X: 1", "x: 2", "connection: Keep-Alive") + "\r\n\n" + post("d"),
		"POST /%41?b#c HTTP/1.1\r\nHost: x:1\r\nContent-Length: 30\r\n\r\nshort",
		post("a", "Transfer-Encoding: chunked") + post("b"),
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\naPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"POST /skip HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde" + post("b"),
		post("a") + "POST /echo HTTP/1.1\nHost: x\nContent-Length: 1\n\na",
	} {
		f.Add([]byte(s), 7)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b []byte
		var err error
		if r.URL.Path != "/skip" {
			b, err = io.ReadAll(r.Body)
		}
		_, _ = fmt.Fprintf(w, "%s %q %q %s %q %d %t %q %v", r.Method, r.URL, r.RequestURI, r.Host, r.Header, r.ContentLength, r.Close, b, err)
	})
	s := start(f, limits(h))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	alone := limits(h)
	f.Cleanup(func() { _ = alone.Close() })
	go func() { _ = alone.Serve(l) }()
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		got, want := said(t, s.addr, b, cut), said(t, l.Addr().String(), b, len(b))
		if got != want && !refusedEarlier(b, got, want) {
			t.Errorf("%q\n%s\nbut net/http alone\n%s", b, got, want)
		}
	})
}

// refusedEarlier says that bytes with a Transfer-Encoding, or a length that is
// folded, were answered as net/http answers them up to a request that the fast path
// refuses: framing that two readers could take in two ways (TestFramingAsNetHTTP).
func refusedEarlier(b []byte, got, want string) bool {
	text := strings.ToLower(string(b))
	if !strings.Contains(text, "transfer-encoding") && !strings.Contains(text, "content-length") {
		return false
	}
	begin, ok := strings.CutSuffix(got, "400 400 Bad Request <nil>\n")
	return ok && strings.HasPrefix(want, begin)
}

// said sends all, in two parts, and gives the statuses and bodies that came back.
// Who refuses the first part may close before the second has come, and what was
// said is lost with the reset that follows, behind net/http alone just as well:
// then all is sent at once.
func said(t *testing.T, addr string, b []byte, cut int) string {
	t.Helper()
	all, err := conversation(t, addr, b, cut)
	if errors.Is(err, syscall.ECONNRESET) && cut < len(b) {
		all, _ = conversation(t, addr, b, len(b))
	}
	return all
}

func conversation(t *testing.T, addr string, b []byte, cut int) (string, error) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if 0 < cut && cut < len(b) {
		_, _ = c.Write(b[:cut])
		poll.Pause(time.Millisecond, "the server should read the first part by itself, and nothing says that it has")
		b = b[cut:]
	}
	_, _ = c.Write(b)
	_ = c.(*net.TCPConn).CloseWrite()
	var all strings.Builder
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return all.String(), err
		}
		text, err := io.ReadAll(resp.Body)
		fmt.Fprintf(&all, "%d %s %v\n", resp.StatusCode, text, err)
		if err != nil {
			return all.String(), err
		}
	}
}
