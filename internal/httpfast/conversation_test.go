package httpfast_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// FuzzConversation holds that whatever a client sends over a real connection, the
// handler gets the same requests, in the same order, as behind net/http alone, and the
// client sees the same statuses and bodies. So a connection stays open, or ends, after
// the same request.
func FuzzConversation(f *testing.F) {
	for _, s := range slices.Concat(httpfast.RequestCorpus(), []string{
		post("abc") + post("") + "GET / HTTP/1.1\r\nHost: x\r\n\r\n" + post("d"),
		"POST /skip HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde" + post("b"),
		post("a") + "POST /echo HTTP/1.1\nHost: x\nContent-Length: 1\n\na",
	}) {
		f.Add([]byte(s), len(s)/2)
	}
	for _, s := range httpfast.OversizedRequests() {
		f.Add([]byte(s), 100)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b []byte
		var err error
		if r.URL.Path != "/skip" {
			b, err = io.ReadAll(r.Body)
		}
		if err != nil {
			_, _ = io.WriteString(w, incompleteBody)
			return
		}
		_, _ = fmt.Fprintf(w, "%s %q %q %s %q %d %t %q", r.Method, r.URL, r.RequestURI, r.Host, r.Header, r.ContentLength, r.Close, b)
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
		got, complete := converseWhole(t, s.addr, b, cut)
		want, completeToo := converseWhole(t, l.Addr().String(), b, len(b))
		if complete && completeToo && got != want && !refusedEarlier(b, got, want) {
			t.Errorf("%q\n%s\nbut net/http alone\n%s", b, got, want)
		}
	})
}

// incompleteBody is what the handler says of a request whose body it could not read.
const incompleteBody = "the body is incomplete"

// refusedEarlier reports whether bytes with a Transfer-Encoding, or a folded length,
// were answered as net/http answers them up to a request that the framing check
// refuses: one whose end two parsers could find in two places. It gets 400, or a body
// that ends too early, and nothing follows (TestFramingAsNetHTTP,
// TestNothingPassesUnchecked).
func refusedEarlier(b []byte, got, want string) bool {
	text := strings.ToLower(string(b))
	if !strings.Contains(text, "transfer-encoding") && !strings.Contains(text, "content-length") {
		return false
	}
	for _, refusal := range []string{"400 400 Bad Request <nil>\n", "200 " + incompleteBody + " <nil>\n"} {
		if begin, ok := strings.CutSuffix(got, refusal); ok && strings.HasPrefix(want, begin) {
			return true
		}
	}
	return false
}

// converseWhole sends all bytes in two parts, and gives the statuses and bodies that came
// back. A server that refuses the first part may close before the second has come, and
// the reset that follows can take responses along, behind net/http alone just as well:
// then all is sent at once. ok is false if even that is reset, because bytes were left
// that the server did not read.
func converseWhole(t *testing.T, addr string, b []byte, cut int) (all string, ok bool) {
	t.Helper()
	all, err := conversation(t, addr, b, cut)
	if errors.Is(err, syscall.ECONNRESET) && cut < len(b) {
		all, err = conversation(t, addr, b, len(b))
	}
	return all, !errors.Is(err, syscall.ECONNRESET)
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
